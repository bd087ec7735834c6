# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.15.0", "iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0",
#   "numpy", "setuptools",
# ]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/97524"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "turbine_cpu cannot train a layer whose input needs no gradient: None is a graph output"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["turbine_cpu"]
# demands = ["training"]
# extra = "turbine"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_conv_input_without_gradient"
# outcome = "raise"
# error = "RuntimeError"
# match = "JIT compilation failed"
# output = "unhandled torch type: '!torch.none'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_linear_input_without_gradient"
# outcome = "raise"
# error = "RuntimeError"
# match = "JIT compilation failed"
# output = "unhandled torch type: '!torch.none'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_conv_no_bias"
# outcome = "raise"
# error = "AttributeError"
# match = "'NoneType' object has no attribute 'shape'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_conv_input_without_gradient"
# outcome = "raise"
# error = "AttributeError"
# match = "'NoneType' object has no attribute 'shape'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_linear_input_without_gradient"
# outcome = "raise"
# error = "ValueError"
# match = "failed to generate bytecode"
# output = '!torch\.vtensor<\[4\],f32>, !torch\.none\)'
# ///
"""AOTAutograd writes None for a gradient nobody needs: as an operator's result and as a graph output.

iree-turbine 3.9.0 imports the None result of a masked convolution_backward (a conv without bias), but types
a None output of the backward graph as `!torch.none`, which its compiler does not handle, so the first layer
of a network, whose input is data, cannot be trained. iree-turbine 3.0.0 died by SIGABRT on either.
shark-turbine 0.9.3 asks None for its shape. Correct: gradients equal to eager's. The backend registers
itself by a package entry point; nothing needs importing. Source: pytorch issue 97524, llvm/torch-mlir PR
1773. The same trap on torch alone: pytorch_97524.
"""

import torch


def _check(module: torch.nn.Module, x: torch.Tensor, backend: str) -> None:
    compiled = x.detach().clone().requires_grad_(x.requires_grad)
    module(x).sum().backward()
    expected = [x.grad, *(parameter.grad for parameter in module.parameters())]
    module.zero_grad()
    torch.compile(module, backend=backend)(compiled).sum().backward()
    actual = [compiled.grad, *(parameter.grad for parameter in module.parameters())]
    for mine, theirs in zip(actual, expected):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            torch.testing.assert_close(mine, theirs)


def test_control(backend: str) -> None:
    torch.manual_seed(0)
    _check(torch.nn.Linear(3, 4), torch.randn(2, 3, requires_grad=True), backend)


def test_conv_no_bias(backend: str) -> None:
    torch.manual_seed(0)
    _check(torch.nn.Conv2d(2, 3, 3, bias=False), torch.randn(1, 2, 5, 5, requires_grad=True), backend)


def test_conv_input_without_gradient(backend: str) -> None:
    torch.manual_seed(0)
    _check(torch.nn.Conv2d(2, 3, 3), torch.randn(1, 2, 5, 5), backend)


def test_linear_input_without_gradient(backend: str) -> None:
    torch.manual_seed(0)
    _check(torch.nn.Linear(3, 4), torch.randn(2, 3), backend)


if __name__ == "__main__":
    test_control("turbine_cpu")
    test_conv_no_bias("turbine_cpu")
    test_conv_input_without_gradient("turbine_cpu")
    test_linear_input_without_gradient("turbine_cpu")
