# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148460"
# fix = "https://github.com/pytorch/pytorch/pull/148480"
# title = "A failed aliasing guard leaks the argument: it is never freed"
# component = "dynamo"
# symptom = "memory"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "3 of 3 arguments still alive"
# ///
"""A function called with one tensor for both arguments, and with two different ones, has two compiled
versions that are told apart by a guard on whether the arguments alias. The C++ guard keeps the first
tensor for the comparison and took a reference to it that it never gave back, so an argument of each
round lives for ever, beyond the reach of the collector. Correct: with the last user reference gone, a
collection frees every argument. Source: issue 148460 (also 149834).
"""

import gc
import weakref

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a * b


def test_aliased_argument_is_freed(device: str, backend: str) -> None:
    compiled = torch.compile(product, backend=backend)

    def round_of_calls() -> weakref.ref:
        a, b = torch.ones(3, device=device), torch.full((3,), 2.0, device=device)
        for other in (a, b, a, b):
            torch.testing.assert_close(compiled(a, other), a * other, rtol=0, atol=0)
        return weakref.ref(a)

    arguments = [round_of_calls() for _ in range(3)]
    gc.collect()
    alive = sum(argument() is not None for argument in arguments)
    assert alive == 0, f"{alive} of 3 arguments still alive after their last use and a collection"


if __name__ == "__main__":
    test_aliased_argument_is_freed("cpu", "eager")
