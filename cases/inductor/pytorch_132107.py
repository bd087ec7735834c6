# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/132107"
# fix = "https://github.com/pytorch/pytorch/pull/132293"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "cumsum of infinities is NaN after a recompilation with dynamic sizes"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# labels = ["scan"]
# demands = ["dynamic-shapes"]
# ///
"""The third call runs the kernel for sizes that vary, which scans block by block and hands the last element of a
block on to the next. To select that element the Triton code multiplies all others by 0 and adds up, and inf * 0
is NaN. Correct: all elements are inf, for every length. As reported the totals of the scans of 100, 10 and 100
elements were inf, inf, nan. Source: pytorch issue 132107.
"""

import torch


def test_lengths_in_turn(device: str, backend: str) -> None:
    def scan(x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, -1)

    compiled = torch.compile(scan, backend=backend)
    for length in (100, 10, 100):
        x = torch.full((length,), float("inf"), device=device, dtype=torch.float64)
        wrong = length - int(compiled(x).isposinf().sum())
        assert wrong == 0, f"{wrong} of {length} elements are not inf"


if __name__ == "__main__":
    test_lengths_in_turn("cuda", "inductor")
