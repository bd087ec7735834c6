# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/193279"
# fix = "https://github.com/pytorch/pytorch/pull/193724"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Compiled torch.func.grad ignores the backward of an autograd.Function"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["autograd-function"]
# demands = ["training"]
# requires-torch = ">=2.6"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "gradient \\[3\\.0, 3\\.0\\] is not from the function's backward"
# ///
"""Inside torch.func.grad the tensors that Dynamo sees do not say that they need a gradient, so it traces an
autograd.Function as if nobody differentiated it: only the operators of its forward reach the graph, and the transform
differentiates those. A backward that is not the formal derivative (here: times 7 for x * 3) is silently replaced.
Correct: the gradient is what the function's own backward returns. Source: pytorch issue 193279.
"""

import torch


class TripleWithOwnGradient(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        pass

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 7


def gradient(x: torch.Tensor) -> torch.Tensor:
    return torch.func.grad(lambda y: TripleWithOwnGradient.apply(y).sum())(x + 1)


def test_own_backward_is_used(device: str, backend: str) -> None:
    actual = torch.compile(gradient, backend=backend)(torch.ones(2, device=device)).tolist()
    assert actual == [7.0, 7.0], f"gradient {actual} is not from the function's backward"


if __name__ == "__main__":
    test_own_backward_is_used("cpu", "eager")
