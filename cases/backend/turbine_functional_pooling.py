# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.15.0", "iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0",
#   "numpy", "setuptools",
# ]
#
# [tool.pt2bugs]
# issue = "https://github.com/llvm/torch-mlir/pull/2065"
# title = "turbine_cpu compiles pooling without a stride, except the backward of avg_pool2d"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["turbine_cpu"]
# extra = "turbine"
#
# [tool.pt2bugs.demands]
# test_max_forward = []
# test_avg_forward = []
# test_max_backward = ["training"]
# test_avg_backward = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_avg_backward"
# outcome = "raise"
# error = "RuntimeError"
# match = "JIT compilation failed"
# output = "failed to legalize operation 'torch.constant.int'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_avg_backward"
# outcome = "raise"
# error = "iree.compiler._mlir_libs._site_initialize.<locals>.MLIRError"
# match = "failed to legalize operation 'torch.constant.int'"
# ///
"""A pooling call without a stride gives a graph whose stride is absent or empty; it means kernel size.

Importers that index the stride list failed with "list index out of range"; released ones lower the forward
and the backward of max_pool2d. The backward of avg_pool2d is still refused: a `torch.constant.int` of the
kernel size is left over when avg_pool2d_backward is not converted (with the stride spelled out, too, so the
empty list is not the only obstacle). Correct: values and gradients equal to eager's. The backend registers
itself by a package entry point. Source: llvm/torch-mlir PR 2065. The same trap on torch alone:
fx_importer_functional_pooling.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _forward(pool: Callable, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 2, 16, 16)
    expected = pool(x, 8)
    torch.testing.assert_close(torch.compile(lambda x: pool(x, 8), backend=backend)(x), expected)


def _backward(pool: Callable, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 2, 16, 16)
    eager, compiled = x.clone().requires_grad_(), x.clone().requires_grad_()
    pool(eager, 8).sum().backward()
    torch.compile(lambda x: pool(x, 8), backend=backend)(compiled).sum().backward()
    torch.testing.assert_close(compiled.grad, eager.grad)


def test_max_forward(backend: str) -> None:
    _forward(F.max_pool2d, backend)


def test_avg_forward(backend: str) -> None:
    _forward(F.avg_pool2d, backend)


def test_max_backward(backend: str) -> None:
    _backward(F.max_pool2d, backend)


def test_avg_backward(backend: str) -> None:
    _backward(F.avg_pool2d, backend)


if __name__ == "__main__":
    test_max_forward("turbine_cpu")
    test_avg_forward("turbine_cpu")
    test_max_backward("turbine_cpu")
    test_avg_backward("turbine_cpu")
