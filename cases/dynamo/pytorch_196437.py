# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196437"
# fix = "https://github.com/pytorch/pytorch/pull/196921"
# upstream = "open"
# upstream-seen = 2026-11-24
# same-fix = "pytorch_145445"
# title = "A random.Random argument gives the same number on every call"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "drew \\[42\\.0, 42\\.0, 42\\.0\\] for"
# ///
"""Dynamo models a random.Random argument by a copy, calls the copy's methods while tracing, and puts the numbers
drawn and the state reached into the compiled code as constants. Only the type of the object is guarded, so
the next call passes the guards, repeats the numbers and sets the old state again. Correct: each call draws
the next number, as in eager.
Source: pytorch issue 196437.
"""

import random

import torch


def draw(x: torch.Tensor, rng: random.Random) -> torch.Tensor:
    return x + rng.randint(1, 100)


def test_generator_advances(device: str, backend: str) -> None:
    x, rng = torch.zeros(1, device=device), random.Random(7)
    compiled = torch.compile(draw, backend=backend)
    actual = [compiled(x, rng).item() for _ in range(3)]
    assert actual == [42.0, 20.0, 51.0], f"drew {actual} for [42.0, 20.0, 51.0]"


if __name__ == "__main__":
    test_generator_advances("cpu", "eager")
