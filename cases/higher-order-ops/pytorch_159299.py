# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159299"
# fix = "https://github.com/pytorch/pytorch/pull/151719"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "ctx.needs_input_grad is False for an input that comes out of flex_attention"
# component = "higher-order-ops"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.5"
# labels = ["flex-attention", "autograd-function"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = "no gradient through flex_attention"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11"
# device = "cpu"
# blocked = true
# outcome = "raise"
# error = "NotImplementedError"
# match = "FlexAttention does not support backward on CPU"
# ///
"""Dynamo makes the example output of a higher-order operator from the operator's inputs and forgot that it needs a
gradient. An autograd.Function traced next saw an input without gradient, so ctx.needs_input_grad was False while
its backward was traced, and the branch that computes this gradient is not in the graph: zeros, or None. Correct: the
gradient of the projection reaches the value. Source: pytorch issue 159299.
"""

import torch
from torch.nn.attention.flex_attention import flex_attention


class Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad: torch.Tensor):
        x, weight = ctx.saved_tensors
        grad_x = grad @ weight.t() if ctx.needs_input_grad[0] else None
        grad_weight = (x.transpose(-1, -2) @ grad).sum((0, 1)) if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight


def attend(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return Project.apply(flex_attention(x, x, x), weight)


def test_gradient_through_the_operator(device: str, backend: str) -> None:
    x = torch.ones(1, 1, 16, 16, device=device, requires_grad=True)
    weight = torch.eye(16, device=device, requires_grad=True)
    torch.compile(attend, backend=backend)(x, weight).sum().backward()
    assert x.grad is not None and x.grad.any(), "no gradient through flex_attention"
    torch.testing.assert_close(x.grad.sum(), torch.tensor(256.0, device=device))


if __name__ == "__main__":
    test_gradient_through_the_operator("cpu", "aot_eager")
