# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198197"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "getattr of a missing attribute of a built-in type does not raise"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "int\\.missing was found: \\[-1\\.0, -1\\.0\\]"
# ///
"""Dynamo models a built-in type such as int as a constant-like variable, and its getattr takes the name as
given: an attribute that the type does not have gives a symbolic result in place of AttributeError, and the
handler of the program is never entered. Correct: the except branch is taken, as in Python.
Source: pytorch issue 198197.
"""

import torch


def ask_int(x: torch.Tensor) -> torch.Tensor:
    try:
        getattr(int, "missing")
    except AttributeError:
        return x + 1
    return x - 1


def test_missing_attribute_raises(device: str, backend: str) -> None:
    actual = torch.compile(ask_int, backend=backend)(torch.zeros(2, device=device)).tolist()
    assert actual == [1.0, 1.0], f"int.missing was found: {actual}"


if __name__ == "__main__":
    test_missing_attribute_raises("cpu", "eager")
