# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172732"
# fix = "https://github.com/pytorch/pytorch/pull/174335"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "torch._dynamo.disable of a functools.wraps wrapper drops the wrapper"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.11"
# outcome = "wrong"
# error = "AssertionError"
# match = "disable\\(\\) called the wrapped function only: \\[2\\.0, 2\\.0\\]"
# ///
"""A function from torch._dynamo.disable remembers the original in an attribute. functools.wraps copies the
attributes of what it wraps, so a wrapper around a disabled function carries that attribute too, and disabling
the wrapper unwraps it to the innermost function: the wrapper's own code is gone. Nothing is compiled.
Correct: disable() of a callable calls that callable. Source: pytorch issue 172732.
"""

import functools

import torch


@torch._dynamo.disable
def add_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@functools.wraps(add_one)
def add_one_and_double(x: torch.Tensor) -> torch.Tensor:
    return add_one(x) * 2


def test_wrapper_still_runs(device: str) -> None:
    actual = torch._dynamo.disable(add_one_and_double)(torch.ones(2, device=device)).tolist()
    assert actual == [4.0, 4.0], f"disable() called the wrapped function only: {actual}"


if __name__ == "__main__":
    test_wrapper_still_runs("cpu")
