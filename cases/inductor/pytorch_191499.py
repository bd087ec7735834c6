# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/191499"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Vectorised amin, amax, argmin and argmax of 8-bit integers start from zero"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# platform = "avx2"
# check = "test_unsigned"
# outcome = "wrong"
# error = "AssertionError"
# match = "amin is [0-2], not 3"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# platform = "avx2"
# check = "test_signed"
# outcome = "wrong"
# error = "AssertionError"
# match = "amax is (-[12]|[01]), not -3"
# ///
"""The C++ backend starts a vectorised minimum or maximum of 8-bit integers from a vector of zeros (of ones where it has
AVX2 alone) instead of the type's largest or smallest value. Once the reduction is long enough for vectors, the minimum of
positive values, and the maximum of negative ones, is that number, and its index is none of the input. It takes a host
with vector instructions. Correct: eager's values.
Source: pytorch issue 191499.
"""

import torch


def compare(reduction, values: torch.Tensor, backend: str) -> None:
    compiled = torch.compile(lambda x: reduction(x), backend=backend)
    actual, expected = compiled(values).item(), reduction(values).item()
    assert actual == expected, f"{reduction.__name__} is {actual}, not {expected}"


def test_unsigned(device: str, backend: str) -> None:
    values = torch.arange(3, 43, dtype=torch.uint8, device=device)
    compare(torch.amin, values, backend)
    compare(torch.argmin, values, backend)


def test_signed(device: str, backend: str) -> None:
    values = torch.arange(-42, -2, dtype=torch.int8, device=device)
    compare(torch.amax, values, backend)
    compare(torch.argmax, values, backend)


if __name__ == "__main__":
    test_unsigned("cpu", "inductor")
    test_signed("cpu", "inductor")
