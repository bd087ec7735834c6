# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198064"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "round(symbolic size, negative ndigits) is a no-op"
# component = "dynamic-shapes"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 2\.0 '
# ///
"""SymInt.__round__ returns the integer itself whatever the number of digits, which is right for none or
more than none, but round(size, -1) rounds to tens: under dynamic shapes the size keeps its exact value.
Correct: Python's round, half to even; equals eager. Source: issue 198064.
"""

import torch


def add_rounded_size(x: torch.Tensor) -> torch.Tensor:
    return x + round(x.shape[0] * 3, -1)


def test_round_to_tens(device: str, backend: str) -> None:
    compiled = torch.compile(add_rounded_size, backend=backend, dynamic=True)
    for size in (4, 9):
        x = torch.zeros(size, device=device)
        torch.testing.assert_close(compiled(x), add_rounded_size(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_round_to_tens("cpu", "eager")
