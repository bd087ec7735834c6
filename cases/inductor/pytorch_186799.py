# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/186799"
# title = "The gradient of amin of atan2 misses the minimum"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.13.0.dev20260608"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "no gradient reaches the minimum of 8 of 64 rows"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "no gradient reaches the minimum of 8 of 64 rows"
# ///
"""The backward asks which elements are equal to the minimum. It computes atan2 again, by a function that rounds
otherwise than the one of the forward, so that no element is. Correct: a gradient reaches each minimum.
Source: pytorch issue 186799.
"""

import torch


def smallest(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.atan2(x, y).amin(dim=-1)


def test_each_row_has_a_minimum(device: str, backend: str) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(64, 3, device=device).requires_grad_(), torch.ones(64, 3, device=device)
    torch.compile(smallest, backend=backend)(x, y).sum().backward()
    without = int((x.grad == 0).all(dim=-1).sum())
    assert without == 0, f"no gradient reaches the minimum of {without} of 64 rows"


if __name__ == "__main__":
    test_each_row_has_a_minimum("cpu", "inductor")
