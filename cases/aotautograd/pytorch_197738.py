# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197738"
# title = "A data mutation of a parameter before += on a plain tensor shifts the outputs"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "result has shape \\(\\), not \\(3,\\)"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.0.1"
# blocked = true
# outcome = "raise"
# error = "RuntimeError"
# match = "a leaf Variable that requires grad is being used in an in-place operation"
# frame = 'torch/_functorch/aot_autograd\.py:\d+ runtime_wrapper'
# ///
"""The graph updates two inputs, a parameter through .data and a plain tensor, in this order. In the forward graph that
AOTAutograd traces, the place of the result is taken by the updated plain tensor, and the computation of the
result is gone. Correct: the result has x's shape and values, and both updates are made.
Source: pytorch issue 197738.
"""

import torch


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(7.0))
        self.calls = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.weight.data.fill_(0.0)
        self.calls += 1
        return x + 0


def test_result_is_not_an_updated_input(device: str, backend: str) -> None:
    model = Counting().to(device)
    model.calls = model.calls.to(device)
    x = torch.arange(3.0, device=device)
    actual = torch.compile(model, backend=backend)(x)
    assert actual.shape == x.shape, f"result has shape {tuple(actual.shape)}, not {tuple(x.shape)}"
    torch.testing.assert_close(actual, x, rtol=0, atol=0)
    assert model.weight.item() == 0, model.weight
    assert model.calls.item() == 1, model.calls


if __name__ == "__main__":
    test_result_is_not_an_updated_input("cpu", "aot_eager")
