# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145445"
# fix = "https://github.com/pytorch/pytorch/pull/196921"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A random.Random argument repeats its first draw in every compiled call"
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
# match = "drew \\[885441, 885441, 885441\\]"
# ///
"""A method of a random.Random object that is an argument of the frame is evaluated while tracing, and the drawn
number becomes a constant of the code; later calls neither draw nor advance the caller's generator. Correct:
three calls draw what three eager calls draw from an equal generator.
Source: pytorch issue 145445.
"""

import random

import torch


def add_draw(x: torch.Tensor, generator: random.Random) -> torch.Tensor:
    return x + generator.randint(1, 1000000)


def draw_three(function, device: str) -> list[int]:
    generator = random.Random(0)
    x = torch.zeros(1, dtype=torch.int64, device=device)
    return [int(function(x, generator).item()) for _ in range(3)]


def test_generator_argument_advances(device: str, backend: str) -> None:
    actual = draw_three(torch.compile(add_draw, backend=backend), device)
    expected = draw_three(add_draw, device)
    assert actual == expected, f"drew {actual}, not {expected}"


if __name__ == "__main__":
    test_generator_argument_advances("cpu", "eager")
