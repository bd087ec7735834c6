# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172956"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "The partitioner fails on a saved tensor that is an output and is changed in backward"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager_decomp_partition"]
# labels = ["autograd-function"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Node add\\w* was invalid, but is output"
# ///
"""An autograd.Function saves a tensor that the compiled function also returns, and adds the gradient to it in
its backward. In the functionalized joint graph the final value of that tensor, a forward output, depends on
the tangents, and the partitioner asserts that no forward output does. Correct: gradient, output and
accumulated sums equal eager's, or a clear error.
Source: pytorch issue 172956.
"""

import torch


class Accumulate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sums):
        ctx.save_for_backward(sums)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (sums,) = ctx.saved_tensors
        sums.add_(grad)
        return grad.clone(), None


def step(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    sums = x.detach().clone()
    return Accumulate.apply(x, sums).clone(), sums


def test_saved_output_changed_in_backward(device: str, backend: str) -> None:
    x = torch.ones(4, device=device, requires_grad=True)
    out, sums = torch.compile(step, backend=backend)(x)
    out.sum().backward()
    torch.testing.assert_close(x.grad, torch.ones(4, device=device), rtol=0, atol=0)
    torch.testing.assert_close(sums, torch.full((4,), 2.0, device=device), rtol=0, atol=0)


if __name__ == "__main__":
    test_saved_output_changed_in_backward("cpu", "aot_eager_decomp_partition")
