# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197085"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "random.shuffle and random.sample return the permutation of trace time on every call"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# check = "test_shuffle"
# outcome = "wrong"
# error = "AssertionError"
# match = "shuffle drew \\[\\[0, 2, 3, 4, 1\\], \\[0, 2, 3, 4, 1\\]"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# check = "test_sample"
# outcome = "wrong"
# error = "AssertionError"
# match = "sample drew \\[\\[1, 4, 3, 2, 0\\], \\[1, 4, 3, 2, 0\\]"
# ///
"""Dynamo replays the random numbers that a traced frame drew, so that each compiled call advances the generator
as eager does. random.shuffle and random.sample are evaluated while tracing instead, and their result enters
the code as a constant: each call returns the first permutation. Correct: with the same seed, three compiled
calls draw the three permutations that eager draws.
Source: pytorch issue 197085.
"""

import random

import torch


def shuffled(x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    order = list(range(5))
    random.shuffle(order)
    return x + 1, order


def sampled(x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    return x + 1, random.sample([0, 1, 2, 3, 4], 5)


def draw_three(function, device: str) -> list[list[int]]:
    random.seed(3)
    x = torch.zeros(1, device=device)
    return [list(function(x)[1]) for _ in range(3)]


def test_shuffle(device: str, backend: str) -> None:
    actual = draw_three(torch.compile(shuffled, backend=backend), device)
    expected = draw_three(shuffled, device)
    assert actual == expected, f"shuffle drew {actual}, eager {expected}"


def test_sample(device: str, backend: str) -> None:
    actual = draw_three(torch.compile(sampled, backend=backend), device)
    expected = draw_three(sampled, device)
    assert actual == expected, f"sample drew {actual}, eager {expected}"


if __name__ == "__main__":
    test_shuffle("cpu", "eager")
    test_sample("cpu", "eager")
