# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/126028"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A dict subclass with its own __setattr__ cannot be built in compiled code"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function UserDefinedClassVariable\\(.*\\) \\[\\] \\{\\}"
# ///
"""Dynamo supported the construction of dict subclasses only when they override none of the methods it knows; one
that keeps its attributes as items too, through super().__setitem__ and super().__setattr__, was a graph
break. Correct: it traces into one graph, and both the attribute and the item are there afterwards.
Source: pytorch issue 126028.
"""

import torch


class Record(dict):
    def __setattr__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)


def fill(x: torch.Tensor) -> tuple[torch.Tensor, Record]:
    record = Record()
    record.sum = x + 1
    return record.sum * 2, record


def test_attribute_that_is_also_an_item(device: str, backend: str) -> None:
    x = torch.ones(2, device=device)
    doubled, record = torch.compile(fill, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(doubled, (x + 1) * 2, rtol=0, atol=0)
    torch.testing.assert_close((record["sum"], record.sum), (x + 1, x + 1), rtol=0, atol=0)


if __name__ == "__main__":
    test_attribute_that_is_also_an_item("cpu", "eager")
