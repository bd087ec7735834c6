# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198189"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "OrderedDict.move_to_end on an argument is not replayed after the graph"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "order after the call: \\['first', 'second', 'third'\\]"
# ///
"""Dynamo traces a mutation of a dictionary argument and replays it on the caller's object after the graph. A pop
followed by an insertion is replayed, but a reorder by OrderedDict.move_to_end, traced since 2.7, is not: the
caller's object keeps its order. Correct: the caller sees the order that eager leaves.
Source: pytorch issue 198189.
"""

from collections import OrderedDict

import torch


def touch(cache: OrderedDict, x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    cache.move_to_end("first")
    return y + 1


def test_reorder_of_an_argument(device: str, backend: str) -> None:
    cache = OrderedDict(first=1, second=2, third=3)
    torch.compile(touch, backend=backend)(cache, torch.ones(2, device=device))
    assert list(cache) == ["second", "third", "first"], f"order after the call: {list(cache)}"


if __name__ == "__main__":
    test_reorder_of_an_argument("cpu", "eager")
