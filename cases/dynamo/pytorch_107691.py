# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107691"
# title = "zip over an object with __iter__ is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["iterator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function BuiltinVariable\(zip\) \[ListVariable\(\), UserDefinedObjectVariable\(Items\)\] \{\}'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function BuiltinVariable\(zip\) \[ListVariable\(\), UserDefinedObjectVariable\(\)\] \{\}'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "builtin: zip \\[<class 'torch\\._dynamo\\.variables\\.lists\\.ListVariable'>, <class 'torch\\._dynamo\\."
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_method UserDefinedObjectVariable\(Items\) __next__ \[\] \{\}'
# ///
"""Dynamo had zip for its own lists and tuples, and called __next__ on what a user's class gives. Correct: one graph, and eager's
result.
Source: pytorch issue 107691.
"""

from collections.abc import Iterator

import torch


class Items:
    def __init__(self, items: list[int]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[int]:
        return iter(self.items)


def combined(x: torch.Tensor, items: Items) -> torch.Tensor:
    for a, b in zip([1, 2], items):
        x = x * a + b
    return x


def test_pairs_with_an_object(device: str, backend: str) -> None:
    x = torch.ones(2, device=device)
    actual = torch.compile(combined, backend=backend, fullgraph=True)(x, Items([3, 4]))
    torch.testing.assert_close(actual, combined(x, Items([3, 4])), rtol=0, atol=0)


if __name__ == "__main__":
    test_pairs_with_an_object("cpu", "eager")
