# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141343"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Arithmetic on a NumPy scalar returns an array"
# component = "dynamo"
# symptom = "wrong-result"
# kind = "limitation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.1"
# labels = ["numpy"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "result is a ndarray, not a float64"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "result is a float, not a float64"
# ///
"""Dynamo traces a NumPy scalar as an array without dimensions and hands the result back as it came out of the graph, an
array. NumPy itself turns such results of arithmetic into scalars. A scalar is a Python number, hashable and
immutable; an array is not. Correct: a numpy.float64. Source: pytorch issue 141343.
"""

import numpy as np
import torch


def inverse(value):
    return 1 / value


def test_scalar_stays_a_scalar(backend: str) -> None:
    value = np.float64(8.0)
    actual, expected = torch.compile(inverse, backend=backend)(value), inverse(value)
    assert type(actual) is type(expected), f"result is a {type(actual).__name__}, not a {type(expected).__name__}"
    assert actual == expected, actual


if __name__ == "__main__":
    test_scalar_stays_a_scalar("eager")
