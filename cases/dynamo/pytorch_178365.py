# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/178365"
# upstream = "closed"
# upstream-seen = 2026-11-24
# reported-on = "2.12.0.dev20260310"
# title = "Default arguments of a function that is an argument are not guarded"
# component = "dynamo"
# symptom = "wrong-result"
# # More graphs since torch 2.12: the defaults are guarded, and the second function is compiled again.
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'sums are \[1\.0, 1\.0\]'
# ///
"""A function that comes in as an argument is guarded by its code object only. Functions made in a loop share the
code object and differ in the values of their default arguments, so the second one runs the first one's graph.
Correct: each function adds its own default. Source: pytorch issue 178365.
"""

from collections.abc import Callable

import torch


def make(shift: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def shifted(x: torch.Tensor, by: float = shift) -> torch.Tensor:
        return x + by

    return shifted


def apply(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return function(x)


def test_default_of_the_second_function(device: str, backend: str) -> None:
    compiled = torch.compile(apply, backend=backend)
    x = torch.zeros(1, device=device)
    actual = [compiled(make(shift), x).item() for shift in (1.0, 2.0)]
    assert actual == [1.0, 2.0], f"sums are {actual}"


if __name__ == "__main__":
    test_default_of_the_second_function("cpu", "eager")
