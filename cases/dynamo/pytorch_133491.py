# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133491"
# fix = "https://github.com/pytorch/pytorch/pull/184267"
# title = "ctx.mark_dirty of an in-place autograd.Function is dropped: its backward is skipped"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["autograd-function"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "gradient \\[2.0, 2.0\\], not \\[10.0, 10.0\\]"
# ///
"""An autograd.Function that modifies its input and declares it by ctx.mark_dirty becomes the new history of that
tensor. Dynamo traces the Function into a higher-order op and drops mark_dirty, so the modified tensor keeps
the history from before and the Function's backward (here: times 5) does not run for it. Correct: eager's
gradient.
Source: pytorch issue 133491.
"""

import torch


class AddOneInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


def double_and_add(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    AddOneInPlace.apply(y)
    return y


def gradient(function, device: str) -> list[float]:
    x = torch.ones(2, device=device, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def test_gradient_of_a_dirty_input(device: str, backend: str) -> None:
    expected = gradient(double_and_add, device)
    actual = gradient(torch.compile(double_and_add, backend=backend), device)
    assert actual == expected, f"gradient {actual}, not {expected}"


if __name__ == "__main__":
    test_gradient_of_a_dirty_input("cpu", "aot_eager")
