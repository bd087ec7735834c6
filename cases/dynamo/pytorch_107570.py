# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107570"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "copy.copy of a tensor breaks the graph"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = '(skip function|call_function) copy in (file|skip_files) copy\.py'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'function `copy` in file `copy\.py` should not be traced'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'torch\.\* op returned non-Tensor[\s\S]*copy\.copy'
# ///
"""copy.copy takes a tensor apart by __reduce_ex__ and puts it together again, functions that Dynamo does not trace. Correct:
a tensor over the same memory, and one graph.
Source: pytorch issue 107570.
"""

import copy

import torch


def copied(x: torch.Tensor) -> torch.Tensor:
    return copy.copy(x).relu()


def test_copy_of_a_tensor(device: str, backend: str) -> None:
    x = torch.tensor([-1.0, 2.0], device=device)
    torch.testing.assert_close(torch.compile(copied, backend=backend, fullgraph=True)(x), copied(x))


if __name__ == "__main__":
    test_copy_of_a_tensor("cpu", "eager")
