# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138269"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "out= that eager resizes is a graph break"
# component = "dynamo"
# symptom = "graph-break"
# kind = "by-design"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "out variants with resizing on graph inputs"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "out variants with resizing on graph inputs"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Shape mismatch with out= tensor variant"
# ///
"""Eager resizes an empty out tensor to the result's shape. Dynamo compares the shape of the out argument before and
after the traced call, and breaks the graph where they differ, as it cannot represent a resize of
an input. Correct: no graph break, and the tensor that the caller passed is resized and filled. fullgraph=True, since
the bug is the break. Source: pytorch issue 138269.
"""

import torch


def add_into(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.add(a, b, out=out)


def test_empty_out_is_resized(device: str, backend: str) -> None:
    a, b, out = torch.ones(3, device=device), torch.ones(3, device=device), torch.empty(0, device=device)
    torch.compile(add_into, backend=backend, fullgraph=True)(a, b, out)
    assert out.tolist() == [2.0, 2.0, 2.0], f"out is {out.tolist()}"


if __name__ == "__main__":
    test_empty_out_is_resized("cpu", "eager")
