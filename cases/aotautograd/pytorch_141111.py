# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141111"
# fix = "https://github.com/pytorch/pytorch/pull/141131"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "autograd.Function whose backward writes into its incoming gradient is refused"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["autograd-function"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "input to the backward that was mutated during the backward pass"
# ///
"""A custom backward that writes into one of its incoming gradients mutates an input of the backward graph.
The joint graph's functionalization knew how to apply mutations to forward inputs only, and refuses the
program while the forward pass is compiled. Eager accepts it: the gradient belongs to the backward from then
on. Correct: x.grad equals eager's. Source: issue 141111, PR 141131 (where reviewers doubt that eager should
allow it).
"""

import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        grad_a.copy_(grad_b)
        return grad_a * 5


def both_outputs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return Double.apply(x)


def gradient(fn, device: str) -> torch.Tensor:
    x = torch.linspace(-1, 1, 4, device=device, requires_grad=True)
    scale = torch.linspace(1, 2, 4, device=device)
    a, b = fn(x)
    ((a * scale).sum() + (b * scale * scale).sum()).backward()
    return x.grad


def test_backward_writes_gradient(device: str, backend: str) -> None:
    expected = gradient(both_outputs, device)
    actual = gradient(torch.compile(both_outputs, backend=backend), device)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_backward_writes_gradient("cpu", "aot_eager")
