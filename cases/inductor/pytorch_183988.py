# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183988"
# fix = "https://github.com/pytorch/pytorch/pull/190313"
# # One pattern is registered without its slice: pull request 184066 splits it for both programs.
# same-fix = "pytorch_188223"
# title = "Indexing by a whole randperm: the pattern misses its slice"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'Not all inputs to pattern found in match\.kwargs\. Perhaps one of the inputs is unused\? argn'
# ///
"""A pattern of Inductor replaces x[randperm(n)[:k]]. It also matches without the slice, and then lacks the argument
that its replacement needs. Correct: a permutation of the rows.
Source: pytorch issue 183988.
"""

import torch


def shuffled(x: torch.Tensor) -> torch.Tensor:
    return x[torch.randperm(x.shape[0], device=x.device)]


def test_rows_are_shuffled(device: str, backend: str) -> None:
    values = sorted(torch.compile(shuffled, backend=backend)(torch.arange(4.0, device=device)).tolist())
    assert values == [0.0, 1.0, 2.0, 3.0], f"the shuffled rows are {values}, sorted"


if __name__ == "__main__":
    test_rows_are_shuffled("cpu", "inductor")
