# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180843"
# fix = "https://github.com/pytorch/pytorch/pull/160799"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.10.0.dev20251124"
# # The thread is open and reports the break on a nightly build of 2.10; every wheel from 2.9 on traces this program.
# title = "The builtin complex() is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["complex"]
# demands = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "BuiltinVariable\\(complex\\)|builtin: complex \\[|builtin operator `complex`"
# ///
"""Dynamo folds calls of builtins on constants for a list of builtins, and complex was not on it: with two Python
floats it is a graph break, and an error with fullgraph=True. Correct: complex(20.0, 1.0) is a constant of the
graph, and the result equals eager's.
Source: pytorch issue 180843.
"""

import torch


def shift(x: torch.Tensor) -> torch.Tensor:
    return x + complex(20.0, 1.0)


def test_complex_of_two_floats(device: str, backend: str) -> None:
    x = torch.tensor([complex(1, 1)], device=device)
    actual = torch.compile(shift, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, shift(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_complex_of_two_floats("cpu", "eager")
