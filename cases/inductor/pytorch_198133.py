# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198133"
# title = "erfinv of a double near 1 has three digits"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the relative error of erfinv is 5e\-05'
# ///
"""Inductor's C++ takes a rational guess and two steps of Newton's method, whose correction is a difference of two
numbers near 1 and cancels there. Eager uses another algorithm. Correct: eager's value to nine digits.
Source: pytorch issue 198133.
"""

import torch


def inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.erfinv(x)


def test_arguments_near_one(device: str, backend: str) -> None:
    x = torch.tensor([0.5, 0.999999999, 1 - 1e-12, 1 - 1e-14], dtype=torch.float64, device=device)
    error = ((torch.compile(inverse, backend=backend)(x) - inverse(x)) / inverse(x)).abs().max().item()
    assert error < 1e-9, f"the relative error of erfinv is {error:.0e}"


if __name__ == "__main__":
    test_arguments_near_one("cpu", "inductor")
