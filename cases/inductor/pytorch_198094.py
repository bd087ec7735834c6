# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198094"
# title = "The result of slice_scatter is written into an input that is zeroed later"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# devices = ["cpu"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the result is \[0, 0, 0, 0, 0, 0, 0, 0\]'
# ///
"""Inductor reuses the input for the result of the functional slice_scatter, because the graph reads the input no
more; that zero_ is copied back into the input at the end does not count as a use. Correct: the result has the old
values, and the input is 0.
Source: pytorch issue 198094.
"""

import torch


def replaced(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    out = torch.slice_scatter(x, rows, dim=0, start=1, end=3)
    x.zero_()
    return out


def test_result_outlives_the_input(device: str, backend: str) -> None:
    x = torch.arange(1, 9, device=device).reshape(4, 2)
    rows = torch.full((2, 2), 20, device=device)
    out = torch.compile(replaced, backend=backend)(x, rows).flatten().tolist()
    assert x.count_nonzero() == 0, f"the input is {x.flatten().tolist()} after zero_"
    assert out == [1, 2, 20, 20, 20, 20, 7, 8], f"the result is {out}"


if __name__ == "__main__":
    test_result_outlives_the_input("cpu", "inductor")
