# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147440"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Iterating over a dict_items argument is a graph break"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["iterator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'UserDefinedObjectVariable\(dict_items\)|__iter__` of class `dict_items`|.dict_items. implements .__iter__.'
# ///
"""A view that the compiled function takes from a dict is modelled; one that comes in as an argument (or
crosses a graph break) is an unknown user object of a type implemented in C, which Dynamo cannot iterate.
Correct: no graph break, the result equals eager's. fullgraph=True, since the bug is the break.
Source: issue 147440.
"""

from collections.abc import ItemsView

import torch


def first_times(x: torch.Tensor, items: ItemsView[str, int]) -> torch.Tensor:
    _, value = next(iter(items))
    return x * value


def test_iterate_dict_items(device: str, backend: str) -> None:
    items = {"a": 3, "b": 4}.items()
    x = torch.arange(4.0, device=device)
    compiled = torch.compile(first_times, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x, items), x * 3, rtol=0, atol=0)


if __name__ == "__main__":
    test_iterate_dict_items("cpu", "eager")
