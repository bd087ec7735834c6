# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198134"
# title = "acosh of large doubles is infinite in vectorized code"
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
# torch = ">=2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "acosh of 1e200 is infinite in 64 of 64 elements"
# ///
"""The vectorized acosh squares its argument, which overflows above 1.3e154. Eager and the scalar code for what is
left of a vector call a function of the math library that does not. Correct: about the logarithm of twice the
argument.
Source: pytorch issue 198134.
"""

import torch


def inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.acosh(x)


def test_large_doubles(device: str, backend: str) -> None:
    x = torch.full((64,), 1e200, dtype=torch.float64, device=device)
    values = torch.compile(inverse, backend=backend)(x)
    infinite = int(values.isinf().sum())
    assert infinite == 0, f"acosh of 1e200 is infinite in {infinite} of 64 elements"
    torch.testing.assert_close(values, inverse(x))


if __name__ == "__main__":
    test_large_doubles("cpu", "inductor")
