# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133575"
# title = "Compiled autograd of a function with a dynamic dimension violates the mark of that dimension"
# component = "dynamic-shapes"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["compiled-autograd", "mark-dynamic"]
# demands = ["training", "dynamic-shapes"]
# requires-torch = ">=2.1"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "raise"
# error = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError"
# match = 'RelaxedUnspecConstraint\(L\[.inputs.\]\[\d\]\.size\(\)\[0\]\) are valid'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "raise"
# error = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError"
# match = 'RelaxedUnspecConstraint\(L\[.inputs.\]\[\d\]\.size\(\)\[0\]\) are valid'
# ///
"""Compiled autograd traced the first backward with the sizes that it met, so the gradient that flows in has a fixed
size. The saved activation is an input that the user marked as dynamic; multiplying the two makes its dimension
equal to a constant, which the mark forbids. Correct: the compiled backward takes both batch sizes, and the
gradients are eager's. Source: pytorch issue 133575.
"""

import functools

import torch
from torch._dynamo import compiled_autograd

enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable


def test_marked_dimension_in_the_backward(device: str, backend: str) -> None:
    compiled = torch.compile(lambda x: x.sin().sin(), backend=backend)
    for rows in (2, 4):
        x = torch.linspace(0.0, 1.0, 3 * rows, device=device).reshape(rows, 3).requires_grad_()
        torch._dynamo.mark_dynamic(x, 0)
        with enable(functools.partial(torch.compile, backend=backend)):
            compiled(x).sum().backward()
        value = x.detach()
        torch.testing.assert_close(x.grad, value.sin().cos() * value.cos())


if __name__ == "__main__":
    test_marked_dimension_in_the_backward("cpu", "aot_eager")
