# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/129845"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Compiled vmap over an autograd.Function with a generated rule loses its backward"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["autograd-function"]
# demands = ["training"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradient \[3\.0, 3\.0\] is not from the mapped backward'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.ArgsMismatchError"
# match = "too many positional arguments\\.\\s+func = 'forward'"
# ///
"""generate_vmap_rule lets vmap batch an autograd.Function by itself. Under vmap the tensors that Dynamo sees do not say
that they need a gradient, so the operators of the forward are traced as if nobody differentiated them, and autograd
later takes their formal derivative (3) instead of the function's backward (7). Correct: eager's gradient. Before,
Dynamo could not trace the forward of such a function under vmap at all. Source: pytorch issue 129845.
"""

import torch


class TripleWithOwnGradient(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        pass

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 7


def mapped(x: torch.Tensor) -> torch.Tensor:
    return torch.vmap(lambda row: TripleWithOwnGradient.apply(row))(x)


def test_gradient_of_the_mapped_function(device: str, backend: str) -> None:
    x = torch.ones(2, device=device, requires_grad=True)
    torch.compile(mapped, backend=backend, fullgraph=True)(x).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0], f"gradient {x.grad.tolist()} is not from the mapped backward"


if __name__ == "__main__":
    test_gradient_of_the_mapped_function("cpu", "eager")
