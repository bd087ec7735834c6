# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/152262"
# fix = "https://github.com/pytorch/pytorch/pull/185179"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An exhausted iterator yields again / does not raise StopIteration"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["iterator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# check = "test_list_twice"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 2 \([\d.]+%\)\nGreatest absolute difference: 3\.0 '
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# check = "test_reversed_is_exhausted"
# outcome = "raise"
# error = "TypeError"
# match = "'tuple' object is not an iterator"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9,<2.13"
# check = "test_reversed_is_exhausted"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 2 \([\d.]+%\)\nGreatest absolute difference: 3\.0 '
# ///
"""An iterator is state: once consumed it yields nothing more. Dynamo unpacked list iterators without moving
their position, and modelled reversed() as a tuple, which can be read again and has no next(). Values that
eager takes once are then taken twice, or next() fails on a tuple. Correct: the second list is empty and
next() gives its default, as in Python. Source: issue 152262.
"""

import torch


def consume_twice(x: torch.Tensor) -> torch.Tensor:
    iterator = iter([1, 2, 3])
    first = list(iterator)
    second = list(iterator)
    return x + 10 * len(first) + len(second)


def next_after_reversed(x: torch.Tensor) -> torch.Tensor:
    iterator = reversed([1, 2, 3])
    consumed = len(list(iterator))
    return x + 10 * consumed + next(iterator, 0)


def compare(fn, device: str, backend: str) -> None:
    x = torch.zeros(2, device=device)
    torch.testing.assert_close(torch.compile(fn, backend=backend)(x), fn(x), rtol=0, atol=0)


def test_list_twice(device: str, backend: str) -> None:
    compare(consume_twice, device, backend)


def test_reversed_is_exhausted(device: str, backend: str) -> None:
    compare(next_after_reversed, device, backend)


if __name__ == "__main__":
    test_reversed_is_exhausted("cpu", "eager")
    test_list_twice("cpu", "eager")
