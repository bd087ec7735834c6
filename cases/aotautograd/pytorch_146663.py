# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/146663"
# fix = "https://github.com/pytorch/pytorch/pull/145082"
# title = "Compile time grows exponentially with repeated logsumexp when a gradient is needed"
# component = "aotautograd"
# symptom = "hang"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager_decomp_partition"]
# demands = ["training"]
# same-fix = "pytorch_145081"
# timeout = 30
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "timeout"
# frame = 'torch/_functorch/partitioners\.py'
# ///
"""Sinkhorn iterations: each step is a logsumexp of the step before. The decomposition gives every step
several users (maximum, difference, exp, log), so the number of paths through the joint graph multiplies
at every step, and the min-cut partitioner followed each path on its own; without a gradient there is
nothing to partition and the program compiles at once. Correct: compile time about linear in the number
of steps; values and gradient equal eager's. Source: issue 146663.
"""

import torch

STEPS = 6


def sinkhorn(cost: torch.Tensor, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS):
        v = torch.logsumexp(cost + u.unsqueeze(1), 0)
        u = torch.logsumexp(cost + v.unsqueeze(0), 1)
    return u + v


def test_logsumexp_steps_compile(device: str, backend: str) -> None:
    torch.manual_seed(0)
    cost = torch.randn(4, 4, device=device, dtype=torch.float64, requires_grad=True)
    zeros = torch.zeros(4, device=device, dtype=torch.float64)
    expected = sinkhorn(cost, zeros, zeros)
    (expected_grad,) = torch.autograd.grad(expected.sum(), cost)
    actual = torch.compile(sinkhorn, backend=backend)(cost, zeros, zeros)
    torch.testing.assert_close(actual, expected)
    (grad,) = torch.autograd.grad(actual.sum(), cost)
    torch.testing.assert_close(grad, expected_grad)


if __name__ == "__main__":
    test_logsumexp_steps_compile("cpu", "aot_eager_decomp_partition")
