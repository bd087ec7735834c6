# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/119348"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A user's Triton kernel in a backward pass is said to change the gradient"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cuda"]
# requires-torch = ">=2.2"
# labels = ["user-triton", "autograd-function"]
# demands = ["training", "mutation"]
# ///
"""What a user's Triton kernel writes has to be found out by reading its code. torch 2.2 does not try, and later
releases assume the worst where they cannot follow the code: every tensor argument then counts as changed. In
the backward pass of an autograd.Function one of them is the incoming gradient, which AOTAutograd does not allow
to be changed. Correct: the doubled input and a gradient of 2. As reported: AssertionError, found an input to
the backward that was mutated. Source: pytorch issue 119348.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):
    for start in range(0, count, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < count
        tl.store(target + offsets, 2 * tl.load(source + offsets, mask=mask), mask=mask)


def doubled(x: torch.Tensor) -> torch.Tensor:
    target = torch.empty_like(x)
    double[(1,)](x, target, x.numel(), BLOCK=16)
    return target


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return doubled(x)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        return doubled(gradient)


def test_kernel_in_the_backward_pass(device: str, backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return Double.apply(x)

    for run in (function, torch.compile(function, backend=backend, fullgraph=True)):  # eager is the control
        x = torch.arange(40.0, device=device, requires_grad=True)
        y = run(x)
        y.backward(torch.ones_like(y))
        torch.testing.assert_close((y, x.grad), (2 * x, torch.full_like(x, 2)))


if __name__ == "__main__":
    test_kernel_in_the_backward_pass("cuda", "inductor")
