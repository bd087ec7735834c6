# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194768"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "nn.init.trunc_normal_ has a branch on data since 2.13"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["mutation", "randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Data-dependent branching[\s\S]*torch/nn/init\.py'
# ///
"""A check whether the bounds and the mean fit was made of tensors, and Dynamo cannot follow a branch on the value of
a tensor. Correct: one graph, as with the releases before.
Source: pytorch issue 194768.
"""

import torch


def initialized(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.init.trunc_normal_(x, mean=0.0, std=1.0, a=-1.0, b=1.0)


def test_one_graph(device: str, backend: str) -> None:
    out = torch.compile(initialized, backend=backend, fullgraph=True)(torch.empty(8, device=device))
    largest = out.abs().max().item()
    assert largest <= 1, f"a value of {largest} is beyond the bounds"


if __name__ == "__main__":
    test_one_graph("cpu", "eager")
