# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198183"
# title = "erf of small floats is 0 in vectorized code"
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
# outcome = "wrong"
# error = "AssertionError"
# match = 'erf of 1e\-8 is 0 in 64 of 64 elements'
# ///
"""The vectorized erf is an approximation with a bound on the absolute error, 1.5e-7, so that small arguments lose all
digits. Eager calls a function of the math library. Correct: eager's values, 1.128 times a small argument.
Source: pytorch issue 198183.
"""

import torch


def error_function(x: torch.Tensor) -> torch.Tensor:
    return torch.erf(x)


def test_small_arguments(device: str, backend: str) -> None:
    x = torch.full((64,), 1e-8, device=device)
    zeros = int((torch.compile(error_function, backend=backend)(x) == 0).sum())
    assert zeros == 0, f"erf of 1e-8 is 0 in {zeros} of 64 elements"


if __name__ == "__main__":
    test_small_arguments("cpu", "inductor")
