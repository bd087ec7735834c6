# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180642"
# fix = "https://github.com/pytorch/pytorch/pull/180921"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "In-place op in autograd.Function.forward routes gradients to the wrong slot"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training"]
# labels = ["gradient", "autograd-function"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 3\.0 at index \(0,\)'
# ///
"""Dynamo returns intermediates of a traced autograd.Function as additional outputs. After an in-place op
the value before it and the value after it are one tensor, which is then returned twice; setting its
gradient edge for the second slot overwrites the first, and the incoming gradient is read from a slot
that nothing feeds. Correct: the gradient of the input equals eager's. Source: issue 180642, PR 180921.
"""

import torch


class TripleAndShift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        y = x * 3
        y += 1
        return y

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 3


def gradient(fn, device: str) -> torch.Tensor:
    x = torch.arange(4.0, device=device, requires_grad=True)
    fn(x).sum().backward()
    assert x.grad is not None, "no gradient reached the input"
    return x.grad


def test_gradient_after_in_place_op(device: str, backend: str) -> None:
    compiled = torch.compile(lambda x: TripleAndShift.apply(x), backend=backend)
    torch.testing.assert_close(gradient(compiled, device), gradient(TripleAndShift.apply, device))


if __name__ == "__main__":
    test_gradient_after_in_place_op("cpu", "aot_eager")
