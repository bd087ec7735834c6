# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198056"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "NumPy functions on small integers give other dtypes when compiled"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.1"
# labels = ["numpy"]
#
# [[tool.pt2bugs.bug]]
# check = "test_cumsum"
# outcome = "wrong"
# error = "AssertionError"
# match = "cumsum of int8 is int8 \\[100, 127, -128\\]"
#
# [[tool.pt2bugs.bug]]
# check = "test_square"
# outcome = "wrong"
# error = "AssertionError"
# match = 'square of int8 is float64 \[1\.0, 4\.0, 9\.0\], not int8 \[1, 4, 9\]'
#
# [[tool.pt2bugs.bug]]
# check = "test_any"
# outcome = "wrong"
# error = "AssertionError"
# match = "any of uint8 is uint8 1, not bool True"
# ///
"""torch._numpy, the stand-in that Dynamo traces NumPy calls with, follows torch's rules for result types where
it has no rule of its own: cumsum accumulates int8 in int8 and overflows, square goes to floating point, any
answers in the dtype of its input. Correct: NumPy's types: a cumulative sum in int64, a square in int8, a bool.
Source: pytorch issue 198056.
"""

import numpy as np
import torch


def compare(name: str, values: list[int], dtype, backend: str) -> None:
    fn, array = getattr(np, name), np.array(values, dtype=dtype)
    actual, expected = torch.compile(lambda a: fn(a), backend=backend)(array), fn(array)
    seen = f"{name} of {array.dtype} is {actual.dtype} {actual.tolist()}"
    assert actual.dtype == expected.dtype, f"{seen}, not {expected.dtype} {expected.tolist()}"
    assert actual.tolist() == expected.tolist(), f"{seen}, not {expected.tolist()}"


def test_cumsum(backend: str) -> None:
    compare("cumsum", [100, 27, 1], np.int8, backend)


def test_square(backend: str) -> None:
    compare("square", [1, 2, 3], np.int8, backend)


def test_any(backend: str) -> None:
    compare("any", [0, 1], np.uint8, backend)


if __name__ == "__main__":
    test_cumsum("eager")
    test_square("eager")
    test_any("eager")
