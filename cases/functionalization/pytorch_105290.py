# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/105290"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The backward of x + 1j * y takes the conjugate of a Python number"
# component = "functionalization"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["complex"]
# demands = ["complex", "training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'aten::_conj\(\) Expected a value of type .Tensor. for argument .self. but instead found type .complex'
# ///
"""The gradient of a product with 1j multiplies by the conjugate of 1j, which is a tensor for autograd and, in the traced
graph, a Python number; the operator _conj takes tensors alone. Correct: eager's gradients.
Source: pytorch issue 105290.
"""

import torch


def real_square(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x + 1j * y).pow(2).real.sum()


def gradients(fn, device: str) -> tuple[torch.Tensor, ...]:
    x, y = (torch.full((3,), value, device=device, requires_grad=True) for value in (1.0, 2.0))
    return torch.autograd.grad(fn(x, y), (x, y))


def test_gradients_of_both_parts(device: str, backend: str) -> None:
    actual = gradients(torch.compile(real_square, backend=backend), device)
    torch.testing.assert_close(actual, gradients(real_square, device))


if __name__ == "__main__":
    test_gradients_of_both_parts("cpu", "aot_eager")
