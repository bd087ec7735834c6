# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/166238"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A defaultdict made from another one's default_factory is a graph break"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.11"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "does not know how to trace method `default_factory` of class `defaultdict`"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "does not know how to trace the function `<class 'collections\\.defaultdict'>`"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function UserDefinedClassVariable\\(<class 'collections\\.defaultdict'>\\) \\[GetAttrVariable"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "(?s)'skip function defaultdict in file.*defaultdict\\(first\\.default_factory"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function defaultdict in skip_files collections/__init__\\.py"
# ///
"""Dynamo knows the factory of a defaultdict that it traces, but gave out the attribute default_factory as an unresolved
access, and takes as the factory of a new defaultdict only what it recognises as a class or function. The
constructor call then breaks the graph. Correct: both dicts work in one graph. Source: pytorch issue 166238.
"""

from collections import defaultdict

import torch


def collect(x: torch.Tensor) -> torch.Tensor:
    first = defaultdict(list)
    first["a"].append(x)
    second = defaultdict(first.default_factory, {"b": [x]})
    second["c"].append(x + 1)
    return second["c"][0] + second["b"][0] + first["a"][0]


def test_factory_of_another_defaultdict(device: str, backend: str) -> None:
    x = torch.ones(2, device=device)
    actual = torch.compile(collect, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, x * 4, rtol=0, atol=0)


if __name__ == "__main__":
    test_factory_of_another_defaultdict("cpu", "eager")
