# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/154820"
# fix = "https://github.com/pytorch/pytorch/pull/155354"
# title = "In-place updates in the forward and backward of an autograd.Function both run in the forward"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["autograd-function"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "==2.1.*"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = "lift_tracked_freevar_to_input should not be called on root SubgraphTracer"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.9"
# outcome = "wrong"
# error = "AssertionError"
# match = "counts after forward and backward: \\(2.0, 2.0\\)"
# ///
"""An autograd.Function counts in a buffer: its forward adds one, and so does its backward. In AOTAutograd's
joint graph both are mutations of one input, of which only the final value is kept and copied back at the end
of the forward graph. Correct: one after the forward, two after the backward.
Source: pytorch issue 154820.
"""

import torch


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, count):
        count.add_(1)
        ctx.count = count
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.count.add_(1)
        return grad, None


def counted(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    return Counted.apply(x, count)


def test_updates_in_both_passes(device: str, backend: str) -> None:
    x, count = torch.ones(2, device=device, requires_grad=True), torch.zeros(1, device=device)
    y = torch.compile(counted, backend=backend)(x, count)
    after_forward = count.item()
    y.sum().backward()
    counts = (after_forward, count.item())
    assert counts == (1.0, 2.0), f"counts after forward and backward: {counts}, not (1.0, 2.0)"


if __name__ == "__main__":
    test_updates_in_both_passes("cpu", "aot_eager")
