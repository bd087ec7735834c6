# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174067"
# fix = "https://github.com/pytorch/pytorch/pull/174099"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "torch.func.grad inside a compiled function refuses an autograd.Function of a trained tensor"
# component = "functorch"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["autograd-function"]
# demands = ["training"]
# requires-torch = ">=2.6"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.11"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "it must override the setup_context staticmethod"
# frame = "torch/_functorch/autograd_function"
# ///
"""Dynamo traces an autograd.Function that takes part in training into a function of its own, written in the old style:
its forward takes ctx and there is no setup_context. The transforms of torch.func refuse that style, although the
program's function has a setup_context. Correct: the gradient by the function's backward, as in eager. Source: pytorch
issue 174067, PR 174099.
"""

import torch


class ScaleWithOwnGradient(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return x * scale

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        pass

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return grad * 7, grad * 11


def gradient(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.func.grad(lambda y: ScaleWithOwnGradient.apply(y, scale).sum())(x + 1)


def test_scale_that_is_trained(device: str, backend: str) -> None:
    x, scale = torch.ones(2, device=device), torch.ones(2, device=device, requires_grad=True)
    actual = torch.compile(gradient, backend=backend)(x, scale).tolist()
    assert actual == gradient(x, scale).tolist(), f"gradient {actual} is not from the function's backward"


if __name__ == "__main__":
    test_scale_that_is_trained("cpu", "eager")
