# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143555"
# fix = "https://github.com/pytorch/pytorch/pull/143635"
# title = "int64 shift by 64 bits keeps the operand"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "eager itself is wrong"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'int64 shift by 64 gives \[(0, 0|1000, 7), -3\], not'
# ///
"""A shift count is only meaningful below the operand's width. The C++ backend emits a bare << or >>, which is
undefined for a count of 64: a scalar instruction takes the count modulo 64 and returns the operand, a
vector instruction gives 0. Seen on x86: on torch 2.6 all three elements are the operands, on 2.1 to 2.5 the
last one only (-3), as g++ had vectorized the loop over the others. Correct, as in eager: every bit is shifted
out, which leaves 0, or -1 for an arithmetic right shift of a negative number. On torch 2.0 eager itself
gives the operands back. Source: pytorch issue 143555.
"""

import torch


def check_shift(shift, expected: list[int], device: str, backend: str) -> None:
    values = torch.tensor([1000, 7, -3], device=device)
    counts = torch.full_like(values, 64)
    assert shift(values, counts).tolist() == expected, "eager itself is wrong"
    compiled = torch.compile(shift, backend=backend)
    result = compiled(values, counts).tolist()
    if result != expected:
        raise AssertionError(f"int64 shift by 64 gives {result}, not {expected}")


def test_right_shift_by_the_width(device: str, backend: str) -> None:
    check_shift(lambda x, n: torch.bitwise_right_shift(x, n), [0, 0, -1], device, backend)


def test_left_shift_by_the_width(device: str, backend: str) -> None:
    check_shift(lambda x, n: torch.bitwise_left_shift(x, n), [0, 0, 0], device, backend)


if __name__ == "__main__":
    test_right_shift_by_the_width("cpu", "inductor")
    test_left_shift_by_the_width("cpu", "inductor")
