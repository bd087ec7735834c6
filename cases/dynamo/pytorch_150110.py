# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150110"
# fix = "https://github.com/pytorch/pytorch/pull/150112"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A compiled function that returns dict.items() gives a tuple"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled function returns a tuple, not a dict_items"
# ///
"""Dynamo modelled the view of a dict's items as a tuple of pairs and, when the view left the frame, rebuilt it as
that tuple. A tuple is no set, and does not follow the dict. Correct: a dict_items, of equal content.
Source: pytorch issue 150110.
"""

import torch


def items(x: torch.Tensor):
    return {"a": x + 1}.items()


def test_items_view_is_returned(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    actual, expected = torch.compile(items, backend=backend)(x), items(x)
    assert type(actual) is type(expected), (
        f"compiled function returns a {type(actual).__name__}, not a {type(expected).__name__}"
    )
    assert list(actual) == list(expected), actual


if __name__ == "__main__":
    test_items_view_is_returned("cpu", "eager")
