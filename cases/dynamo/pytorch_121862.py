# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121862"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "torch._dynamo.reset() after a backward under compiled autograd crashes"
# component = "dynamo"
# symptom = "crash"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["compiled-autograd"]
# demands = ["training"]
# requires-torch = ">=2.1"
# ///
"""Compiled autograd hands the graph of the backward to a compiler of the user's. With torch.compile in it, reset() drops
an object of that compilation twice, and most often the process dies within a few rounds. Correct: gradients as usual,
and a process that goes on.
Source: pytorch issue 121862.
"""

import gc

import torch
from torch._dynamo import compiled_autograd


def bias_gradient(device: str, backend: str) -> list[float]:
    enable = getattr(compiled_autograd, "enable", None) or compiled_autograd._enable
    module = torch.nn.Linear(3, 2).to(device)
    with enable(lambda graph: torch.compile(graph, backend=backend)):
        module(torch.ones(2, 3, device=device)).sum().backward()
    return module.bias.grad.tolist()


def test_reset_after_compiled_backward(device: str, backend: str) -> None:
    for _ in range(20):
        assert bias_gradient(device, backend) == [2.0, 2.0], "the gradient of the bias is not the number of rows"
        torch._dynamo.reset()
        gc.collect()


if __name__ == "__main__":
    test_reset_after_compiled_backward("cpu", "eager")
