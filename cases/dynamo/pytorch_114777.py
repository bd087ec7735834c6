# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114777"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A member of an enum as an argument of an autograd.Function is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["autograd-function"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'autograd\.Function with requires_grad'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "HigherOrderOperator with body that accepts non-Tensors as input. Got: <enum 'Kind'>"
# ///
"""The Function's forward is traced as a graph of its own, to which the member could not be passed. Correct: one graph, and the
gradient.
Source: pytorch issue 114777.
"""

from enum import Enum

import torch


class Kind(Enum):
    PLAIN = 0
    OTHER = 1


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, kind: Kind) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad, None


def test_gradient_of_a_copy(device: str, backend: str) -> None:
    x = torch.ones(3, device=device, requires_grad=True)
    torch.compile(lambda x: Copy.apply(x, Kind.PLAIN), backend=backend, fullgraph=True)(x).sum().backward()
    assert x.grad.tolist() == [1.0] * 3, f"the gradient of a copy is {x.grad.tolist()}"


if __name__ == "__main__":
    test_gradient_of_a_copy("cpu", "eager")
