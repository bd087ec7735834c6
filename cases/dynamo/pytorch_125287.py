# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/125287"
# fix = "https://github.com/pytorch/pytorch/pull/124399"
# title = "torch.autograd.backward in a compiled function: cannot backprop through mirrored meta"
# component = "dynamo"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Cannot backprop through mirrored meta, file a bug in PyTorch"
# ///
"""Tensor.backward breaks the graph, but the function torch.autograd.backward was traced, and ran on the fake tensors of
the trace. Correct: a graph break, and x gets its gradient.
Source: pytorch issue 125287.
"""

import torch


def step(x: torch.Tensor) -> None:
    y = x.sin().sin()
    torch.autograd.backward([y], [torch.ones_like(y)])


def test_gradient_arrives(device: str, backend: str) -> None:
    x, expected = (torch.ones(4, device=device, requires_grad=True) for _ in range(2))
    step(expected)
    torch.compile(step, backend=backend)(x)
    torch.testing.assert_close(x.grad, expected.grad)


if __name__ == "__main__":
    test_gradient_arrives("cpu", "aot_eager")
