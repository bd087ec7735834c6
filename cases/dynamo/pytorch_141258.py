# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141258"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "round() of a NumPy scalar"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["numpy"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "TypeError"
# match = "type numpy.ndarray doesn't define __round__ method"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "FakeTensor\\(\\.\\.\\., size=\\(\\), [\\s\\S]*'ndarray' object has no attribute '__round__'"
# ///
"""Dynamo represents a NumPy scalar by a 0-d array of its own, backed by a tensor. Python's round() calls __round__ of
its argument, which a NumPy scalar has and an array has not, so the call in the graph fails on fake tensors.
Correct: the rounded number. Source: pytorch issue 141258.
"""

import numpy
import torch


def add_rounded(x: torch.Tensor) -> torch.Tensor:
    return x + int(round(numpy.floor(3.7)))


def test_round_of_a_numpy_scalar(device: str, backend: str) -> None:
    actual = torch.compile(add_rounded, backend=backend)(torch.zeros(2, device=device)).tolist()
    assert actual == [3.0, 3.0], f"added {actual}"


if __name__ == "__main__":
    test_round_of_a_numpy_scalar("cpu", "eager")
