# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/127922"
# fix = "https://github.com/pytorch/pytorch/pull/149367"
# title = "Compiled autograd gives a channels-last parameter a contiguous gradient"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["compiled-autograd"]
# demands = ["training"]
# requires-torch = ">=2.1"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = 'strides of the gradient are \(12, 4, 2, 1\), of the parameter \(12, 1, 6, 3\)'
# ///
"""The autograd engine stores a first gradient in the memory format of the parameter: a gradient with other strides
is copied. Compiled autograd traces a Python version of that step, which kept the new gradient as it came.
Correct: the gradient has the strides of the parameter, as in eager, which optimizers and fused kernels rely on.
Source: pytorch issue 127922.
"""

import functools

import torch
from torch._dynamo import compiled_autograd

enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable


def test_gradient_has_the_format_of_the_parameter(device: str, backend: str) -> None:
    weight = torch.ones(2, 3, 2, 2, device=device).to(memory_format=torch.channels_last).requires_grad_()
    out = weight.contiguous().mul(2).sum()
    with enable(functools.partial(torch.compile, backend=backend)):
        out.backward()
    torch.testing.assert_close(weight.grad, torch.full_like(weight, 2.0), rtol=0, atol=0)
    actual, expected = weight.grad.stride(), weight.stride()
    assert actual == expected, f"strides of the gradient are {actual}, of the parameter {expected}"


if __name__ == "__main__":
    test_gradient_has_the_format_of_the_parameter("cpu", "aot_eager")
