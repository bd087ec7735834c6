# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/95425"
# fix = "https://github.com/pytorch/pytorch/pull/98812"
# title = "random.uniform in a compiled function is drawn once"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["randomness"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'three draws are \[1\.8444, 1\.8444, 1\.8444\]'
# ///
"""Python's random numbers were constants of the graph: the number of the first call comes again in each. Correct: the numbers
that eager draws from the same seed.
Source: pytorch issue 95425; a regression test of PyTorch's names it.
"""

import random

import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * random.uniform(1, 2)


def drawn(function) -> list[float]:
    random.seed(0)
    return [round(function(torch.ones(1, dtype=torch.float64)).item(), 4) for _ in range(3)]


def test_three_draws(backend: str) -> None:
    values = drawn(torch.compile(scaled, backend=backend))
    assert values == drawn(scaled), f"three draws are {values}"


if __name__ == "__main__":
    test_three_draws("eager")
