# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/163457"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "divmod of a symbolic size is a graph break"
# component = "dynamic-shapes"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "BuiltinVariable\\(divmod\\) \\[SymNodeVariable|builtin: divmod \\[.*SymNodeVariable|builtin operator `divmod`"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "unsupported operand type\\(s\\) for divmod\\(\\): 'int' and 'int'"
# ///
"""Dynamo traces // and % of symbolic integers; divmod, which is both, has no handler for them. Correct: no graph
break, quotient and remainder of the size. fullgraph=True, since the bug is the break.
Source: pytorch issue 163457.
"""

import torch


def fold(x: torch.Tensor) -> torch.Tensor:
    quotient, remainder = divmod(x.shape[0], 3)
    return x.new_zeros(quotient, remainder + 1)


def test_divmod_of_a_size(device: str, backend: str) -> None:
    compiled = torch.compile(fold, backend=backend, dynamic=True, fullgraph=True)
    shape = list(compiled(torch.ones(11, device=device)).shape)
    assert shape == [3, 3], f"divmod(11, 3) gave the shape {shape}"


if __name__ == "__main__":
    test_divmod_of_a_size("cpu", "eager")
