# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172428"
# title = "vjp of a custom operator with a registered backward does not use its fake kernel"
# component = "custom-op"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.4"
# labels = ["custom-op"]
# demands = ["custom-op"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'call_function pt2bugs_172428\.twice'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# outcome = "raise"
# error = "RuntimeError"
# match = 'In order to use an autograd\.Function with functorch transforms'
# ///
"""Under torch.func.vjp the tensors are wrapped, and the call of the operator in the trace reaches its real kernel, or an
autograd.Function that the transform refuses. Correct: the pullback doubles, as in eager.
Source: pytorch issue 172428.
"""

import torch


@torch.library.custom_op("pt2bugs_172428::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy(force=True) * 2)


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


twice.register_autograd(lambda ctx, grad: grad * 2)


def pulled_back(x: torch.Tensor) -> torch.Tensor:
    out, pullback = torch.func.vjp(twice, x)
    return pullback(torch.ones_like(out))[0]


def test_pullback(backend: str) -> None:
    values = torch.compile(pulled_back, backend=backend)(torch.ones(3)).tolist()
    assert values == [2.0] * 3, f"the gradient of 2 * x is {values}"


if __name__ == "__main__":
    test_pullback("aot_eager")
