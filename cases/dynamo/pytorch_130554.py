# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130554"
# fix = "https://github.com/pytorch/pytorch/pull/130745"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A defaultdict of sets is a graph break, a defaultdict of lists is none"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function UserDefinedClassVariable\\(<class 'collections\\.defaultdict'>\\) \\[BuiltinVariable"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "(?s)'skip function defaultdict in file.*groups = defaultdict\\(set\\)"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function defaultdict in skip_files collections/__init__\\.py"
# ///
"""The constructor of a defaultdict was traced if its factory was one of a few known ones, list and dict among them; set
was left out, and the call breaks the graph. Correct: one graph; the dict that is returned holds the sets of
eager. Source: pytorch issue 130554.
"""

from collections import defaultdict

import torch


def group(x: torch.Tensor):
    groups = defaultdict(set)
    groups["odd"].add(1)
    groups["odd"].add(3)
    groups["even"].add(2)
    return x + len(groups), groups


def test_defaultdict_of_sets(device: str, backend: str) -> None:
    x = torch.zeros(2, device=device)
    actual, groups = torch.compile(group, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, x + 2, rtol=0, atol=0)
    assert groups == {"odd": {1, 3}, "even": {2}}, groups


if __name__ == "__main__":
    test_defaultdict_of_sets("cpu", "eager")
