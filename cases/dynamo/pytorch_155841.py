# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/155841"
# fix = "https://github.com/pytorch/pytorch/pull/156125"
# title = "A method under functools.lru_cache is called without its object"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.ArgsMismatchError"
# match = "missing a required argument: 'step'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_method UserDefinedObjectVariable\\(Ruler\\) after"
# ///
"""Dynamo traces the function behind functools.lru_cache instead of the cache. The wrapper is a descriptor, so looked
up on an object it binds that object; Dynamo went on with the plain function and lost the object, and the
arguments do not fit. Before torch 2.5 a cached method was not traced at all. Correct: the method is traced, as bound.
Source: pytorch issue 155841, PR 156125.
"""

import functools

import torch


class Ruler:
    def __init__(self, start: int) -> None:
        self.start = start

    @functools.lru_cache
    def after(self, step: int) -> int:
        return self.start + step


def shift(x: torch.Tensor, ruler: Ruler) -> torch.Tensor:
    return x + ruler.after(3)


def test_cached_method(device: str, backend: str) -> None:
    x = torch.zeros(2, device=device)
    actual = torch.compile(shift, backend=backend, fullgraph=True)(x, Ruler(4))
    torch.testing.assert_close(actual, x + 7, rtol=0, atol=0)


if __name__ == "__main__":
    test_cached_method("cpu", "eager")
