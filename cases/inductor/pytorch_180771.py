# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180771"
# fix = "https://github.com/pytorch/pytorch/pull/180166"
# same-fix = "pytorch_180164"
# title = "The gradient of slice_scatter is zero where the input is kept"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradient \[1\.0, 1\.0, 1\.0, 1\.0, 1\.0\] where the first two are replaced'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradient \[0\.0, 0\.0, 0\.0, 0\.0, 0\.0\] where the first two are replaced'
# ///
"""The input's gradient is that of the output with zeros in the slice. The scatter of zeros is fused with the expanded one
of the sum, which is one element in memory. Correct: 0 in the slice, 1 elsewhere.
Source: pytorch issue 180771, which saw it on CUDA.
"""

import torch


def replaced(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.slice_scatter(x, y, dim=0, start=0, end=2).sum()


def test_gradient_of_the_rest(device: str, backend: str) -> None:
    x = torch.arange(5.0, device=device).requires_grad_()
    torch.compile(replaced, backend=backend)(x, torch.tensor([10.0, 20.0], device=device)).backward()
    values = x.grad.tolist()
    assert values == [0.0, 0.0, 1.0, 1.0, 1.0], f"gradient {values} where the first two are replaced"


if __name__ == "__main__":
    test_gradient_of_the_rest("cpu", "inductor")
