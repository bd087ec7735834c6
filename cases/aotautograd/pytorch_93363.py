# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/93363"
# title = "In-place update of a non-contiguous view input: wrong base, later a wrong gradient of the base"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "Tensor-likes are not equal"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "Tensor-likes are not close"
# ///
"""AOTAutograd turns the input's a.add_(1) into an updated copy that is written back after the graph has run.
The input is every other element of a base that requires grad, so the write-back has to respect the strides
(torch 2.0 wrote to wrong elements of the base), and autograd has to see it as a change of the base (torch 2.2
and 2.3 left a base of right values and a wrong gradient). Correct: base and gradient as in eager; without
grad as well. The torch.compile check uses fullgraph=True, so that they cannot pass by falling back to eager.
Source: pytorch issue 93363 (the wrong values); the wrong gradient was found by this check.
"""

from collections.abc import Callable

import torch
from functorch.compile import aot_function, nop


def increment(a: torch.Tensor) -> tuple[()]:
    a.add_(1)
    return ()


def same_base_and_gradient(device: str, compiled: Callable[[torch.Tensor], object]) -> None:
    leaf = torch.arange(6.0, device=device, requires_grad=True)
    base, reference = leaf * 2, leaf * 2
    increment(reference[::2])
    compiled(base[::2])
    torch.testing.assert_close(base, reference, rtol=0, atol=0)
    (expected,) = torch.autograd.grad(reference.square().sum(), leaf)
    (actual,) = torch.autograd.grad(base.square().sum(), leaf)
    torch.testing.assert_close(actual, expected)


def test_aot_function(device: str) -> None:
    same_base_and_gradient(device, aot_function(increment, nop))


def test_compile(device: str, backend: str) -> None:
    same_base_and_gradient(device, torch.compile(increment, backend=backend, fullgraph=True))


if __name__ == "__main__":
    test_compile("cpu", "aot_eager")
