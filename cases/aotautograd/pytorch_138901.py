# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138901"
# fix = "https://github.com/pytorch/pytorch/pull/149987"
# title = "Compiled autograd refuses a graph with an intermediate that retains its gradient"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["compiled-autograd", "hook"]
# demands = ["training"]
# requires-torch = ">=2.1"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "RuntimeError"
# match = "retains_grad_hooks not implemented for compiled autograd"
# ///
"""retain_grad puts a hook of its own kind, written in C++, on the node that made the tensor. Compiled autograd turns
each node of the autograd graph and its Python hooks into nodes of an FX graph, and had no counterpart for this one:
it stopped the whole backward. Correct: the intermediate and the leaf get the gradients of eager.
Source: pytorch issue 138901, PR 149987.
"""

import functools

import torch
from torch._dynamo import compiled_autograd

enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable


def test_intermediate_keeps_its_gradient(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device, requires_grad=True)
    middle = x * 2
    middle.retain_grad()
    with enable(functools.partial(torch.compile, backend=backend)):
        middle.square().sum().backward()
    torch.testing.assert_close(middle.grad, 2 * middle.detach(), rtol=0, atol=0)
    torch.testing.assert_close(x.grad, 8 * x.detach(), rtol=0, atol=0)


if __name__ == "__main__":
    test_intermediate_keeps_its_gradient("cpu", "eager")
