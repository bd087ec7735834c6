# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130719"
# fix = "https://github.com/pytorch/pytorch/pull/152989"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "set.union is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "missing: BUILD_SET"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "SetVariable\\(\\) union"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.8"
# outcome = "raise"
# error = "AssertionError"
# match = "union"
# frame = "variables/dicts.py:\\d+ call_method"
# ///
"""Dynamo had no rule for the method union of a set: a graph break, and from 2.5 to 2.7 an assertion on its
arguments. Correct: it traces for any number of arguments, and gives the union.
Source: pytorch issue 130719.
"""

import torch


def add_size_of_union(x: torch.Tensor) -> torch.Tensor:
    names = {"a"}.union({"b"}, {"c", "a"})
    return x + len(names)


def test_union_of_three_sets(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    actual = torch.compile(add_size_of_union, backend=backend, fullgraph=True)(x).item()
    assert actual == 3.0, f"the union of a, b and c has {actual} elements"


if __name__ == "__main__":
    test_union_of_three_sets("cpu", "eager")
