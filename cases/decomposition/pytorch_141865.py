# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141865"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "float32 Linear(1,1) accepts a float16 input"
# component = "decomposition"
# symptom = "missing-error"
# kind = "by-design"
# devices = ["cpu"]
# backends = ["inductor"]
# demands = []
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled Linear accepted a float16 input"
# ///
"""Inductor's CPU decomposition rewrites a matrix product with an inner dimension of one into a broadcast
multiplication, which promotes dtypes. The check that both factors of a product share a dtype goes with the
product: a float16 input to a float32 layer gives a float32 result. Correct: refused, as by eager and by a
wider layer. Source: issue 141865.
"""

import torch


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def is_refused(module, x: torch.Tensor) -> bool:
    try:
        with torch.no_grad():
            module(x)
    except Exception as error:
        if "dtype" not in str(error) and "scalar type" not in str(error):
            raise
        return True
    return False


def test_half_input_is_refused(device: str, backend: str) -> None:
    layer = Layer().to(device).eval()
    compiled = torch.compile(layer, backend=backend)
    x = torch.ones(1, 1, device=device)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), layer(x))
    assert is_refused(layer, x.half())
    if not is_refused(compiled, x.half()):
        raise AssertionError("compiled Linear accepted a float16 input")


if __name__ == "__main__":
    test_half_input_is_refused("cpu", "inductor")
