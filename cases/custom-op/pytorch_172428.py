# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172428"
# title = "A fake kernel that calls vjp fails in the compiler"
# component = "custom-op"
# symptom = "internal-error"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.4"
# labels = ["custom-op", "functorch"]
# demands = ["custom-op"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Found in aten\.matmul\.default\(FakeTensor\(\.\.\., size=\(2, 3\)\), GradTrackingTensor'
# ///
"""The fake kernel of a custom operator differentiates with torch.func.vjp. Under the compiler the wrapped fake tensor
counts as a real one beside the other, and their product is refused. Correct: the product, as in eager.
Source: pytorch issue 172428.
"""

import torch


@torch.library.custom_op("pt2bugs_172428::product", mutates_args=())
def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x @ weight


@product.register_fake
def _(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    output, _ = torch.func.vjp(lambda w: x @ w, weight)
    return output


def test_product(backend: str) -> None:
    compiled = torch.compile(lambda x, weight: product(x, weight) + 1, backend=backend)
    values = compiled(torch.ones(2, 3), torch.full((3, 4), 2.0)).tolist()
    assert values == [[7.0] * 4] * 2, f"the product of ones and twos, and 1, is {values}"


if __name__ == "__main__":
    test_product("eager")
