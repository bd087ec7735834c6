# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/163093"
# fix = "https://github.com/pytorch/pytorch/pull/163098"
# title = "ReduceLROnPlateau turns a tensor learning rate into a float and the optimizer recompiles"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["optimizer", "recompilation"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.10"
# outcome = "wrong"
# error = "AssertionError"
# # Two graphs; three on torch 2.3.
# match = '^[23] graphs for one optimizer step'
# ///
"""A learning rate that changes belongs into a tensor, so that a compiled optimizer takes it as an input.
ReduceLROnPlateau computes the reduced rate as a Python float and stores it in the parameter group in place of the
tensor; a float is a constant that is guarded on, and the step is compiled again. Correct: the
scheduler writes into the tensor and one graph serves all rates. Source: pytorch issue 163093.
"""

import torch
from torch._dynamo.utils import counters


def test_scheduler_keeps_the_tensor(device: str, backend: str) -> None:
    weight = torch.nn.Parameter(torch.ones(2, device=device))
    rate = torch.tensor(0.5, device=device)
    optimizer = torch.optim.SGD([weight], lr=rate, foreach=False)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    step = torch.compile(optimizer.step, backend=backend)
    counters.clear()
    for _ in range(3):
        weight.grad = torch.ones_like(weight)
        step()
        scheduler.step(1.0)
    assert weight.tolist() == [-0.25, -0.25], weight
    graphs = counters["stats"]["unique_graphs"]
    assert graphs == 1, f"{graphs} graphs for one optimizer step"


if __name__ == "__main__":
    test_scheduler_keeps_the_tensor("cpu", "eager")
