# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/136662"
# title = "torch.compile(torch.func.grad(compiled_f)) silently drops the grad transform"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager", "inductor"]
# compiles = false
# labels = ["gradient"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.11"
# check = "test_grad_of_compiled_function"
# outcome = "wrong"
# error = "AssertionError"
# match = "'shape' do not match"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.13"
# check = "test_grad_of_compiled_function"
# outcome = "raise"
# error = "AssertionError"
# match = "^$"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# check = "test_grad_of_repeated_slice_update"
# backend = "inductor"
# outcome = "wrong"
# error = "AssertionError"
# match = "Tensor-likes are not close"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_grad_of_repeated_slice_update"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# blocked = true
# ///
"""Two ways to lose part of a gradient. A compiled function carries an attribute that names the original;
torch.func.grad builds its wrapper with functools.wraps, which copies it, and the outer torch.compile follows
it past the transform to the bare function: the loss comes back in place of its gradient (later: an assertion
meets the copied attributes). And under grad, Inductor makes two updates of one slice into one.
Correct: equals eager's gradient. (`compiles = false`: torch 2.2 and older left func.grad uncompiled.)
Source: issue 136662; for the copied attribute see issues 172732 and 154036.
"""

import torch


def total(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum()


def accumulate_twice(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    y[:, 0] += x[:, 2].abs()
    y[:, 0] += x[:, 2].abs()
    return y.sum()


def test_grad_of_compiled_function(device: str, backend: str) -> None:
    x = torch.arange(5.0, device=device)
    inner = torch.compile(total, backend=backend)
    actual = torch.compile(torch.func.grad(inner), backend=backend)(x)
    torch.testing.assert_close(actual, torch.func.grad(total)(x))


def test_grad_of_repeated_slice_update(device: str, backend: str) -> None:
    x = torch.tensor([[1.0, 2.0, -3.0], [4.0, 5.0, 6.0]], device=device)
    actual = torch.compile(torch.func.grad(accumulate_twice), backend=backend)(x)
    torch.testing.assert_close(actual, torch.func.grad(accumulate_twice)(x))


if __name__ == "__main__":
    test_grad_of_compiled_function("cpu", "eager")
