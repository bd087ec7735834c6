# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121227"
# upstream = "closed"
# upstream-seen = 2026-11-24
# reported-on = "2.3.0.dev20240301"
# title = "tanh of a stack of split pieces is rearranged for a negative stack dimension"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 6 / 9 \([\d.]+%\)\nGreatest absolute difference: 0\.9242\d* at index \(0, 0, 2\)'
# ///
"""A pre-grad pass replaces split, stack and tanh of the pieces by a reshape of one tensor. It compared the
stack's dimension without normalizing it, so that stacking along the new last dimension (-1) was treated as
along another one, and the values end up transposed. Correct: eager's order.
Source: pytorch issue 121227.
"""

import torch


def stacked(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(torch.stack(torch.split(x, [3, 3, 3], dim=-1), dim=-1))


def test_stack_along_the_last_dimension(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 9, device=device).reshape(1, 9)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(stacked, backend=backend)(x), stacked(x))


if __name__ == "__main__":
    test_stack_along_the_last_dimension("cpu", "inductor")
