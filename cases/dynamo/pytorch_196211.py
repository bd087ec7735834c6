# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196211"
# fix = "https://github.com/pytorch/pytorch/pull/185179"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "iter() of a partly consumed reversed() iterator starts from the end again"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["iterator"]
# same-fix = "pytorch_152262"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "the iterator was at \\[5\\.0\\], its iter\\(\\) gives \\[5\\.0\\]"
# ///
"""Dynamo modelled reversed() as a tuple of the reversed items. next() moved a position, but iter() of a tuple is a
new iterator, so the items already taken come again; for loops and list() go through iter() too. Correct: iter() of
an iterator is that iterator, and the second value is the one before the last, as in Python.
Source: pytorch issue 196211, PR 183077.
"""

import torch


def last_two(items: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    iterator = reversed(items)
    last = next(iterator)
    return last + 0, next(iter(iterator)) + 0


def test_iter_keeps_the_position(device: str, backend: str) -> None:
    items = [torch.full((1,), value, device=device) for value in (1.0, 3.0, 5.0)]
    last, before = torch.compile(last_two, backend=backend)(items)
    assert last.tolist() == [5.0], last
    assert before.tolist() == [3.0], f"the iterator was at {last.tolist()}, its iter() gives {before.tolist()}"


if __name__ == "__main__":
    test_iter_keeps_the_position("cpu", "eager")
