# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143566"
# fix = "https://github.com/pytorch/pytorch/pull/143635"
# same-fix = "pytorch_143555"
# upstream = "closed"
# upstream-seen = 2026-11-25
# reported-on = "2.6.0.dev20241218"
# title = "A left shift by the width of the integer keeps the value"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = '1000 shifted by 64 and by 1 is \[1000, 2000\]'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = '1000 shifted by 64 and by 1 is \[0, 2000\]'
# blocked = true
# ///
"""C++ does not define a shift by 64 of a 64-bit integer, and x86 takes the shift modulo 64. Eager checks the range
and gives 0, Inductor wrote a bare shift. Correct: 0.
Source: pytorch issue 143566.
"""

import torch


def shifted(x: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    return torch.bitwise_left_shift(x, bits)


def test_shift_by_the_width(device: str, backend: str) -> None:
    x, bits = torch.tensor([1000, 1000], device=device), torch.tensor([64, 1], device=device)
    values = torch.compile(shifted, backend=backend)(x, bits).tolist()
    assert values == shifted(x, bits).tolist() == [0, 2000], f"1000 shifted by 64 and by 1 is {values}"


if __name__ == "__main__":
    test_shift_by_the_width("cpu", "inductor")
