# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/97346"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "add with the batch size as alpha has no gradient with dynamic shapes"
# component = "dynamic-shapes"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["training", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "tried to get Long out of SymInt"
# ///
"""The formula for the gradient multiplies by alpha, and takes it for a plain number, which a symbolic size is not. Correct:
the gradient is the size.
Source: pytorch issue 97346; a regression test of PyTorch's names it.
"""

import torch


def added(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.add(x, y, alpha=x.size(0))


def test_gradient_is_the_size(device: str, backend: str) -> None:
    x, y = (torch.ones(3, device=device, requires_grad=True) for _ in range(2))
    torch.compile(added, backend=backend, dynamic=True)(x, y).sum().backward()
    assert y.grad.tolist() == [3.0] * 3, f"the gradient of y times 3 is {y.grad.tolist()}"


if __name__ == "__main__":
    test_gradient_is_the_size("cpu", "aot_eager")
