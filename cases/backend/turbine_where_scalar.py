# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.15.0", "iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0",
#   "numpy", "setuptools",
# ]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/92941"
# title = "Training on turbine_cpu fails where the backward graph holds a `where` against a scalar"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["turbine_cpu"]
# demands = ["training"]
# extra = "turbine"
# same-fix = "fx_importer_where_scalar"
# upstream = "closed"
# upstream-seen = 2026-11-25
# # The thread was closed by a change for DDPOptimizer alone, pull request 92986.
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# check = "test_where"
# outcome = "raise"
# error = "AssertionError"
# match = "Please convert all Tensors to FakeTensors first.*aten\\.where\\.self"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# check = "test_where"
# outcome = "raise"
# error = "Exception"
# match = "Please convert all Tensors to FakeTensors first.*aten\\.where\\.self"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# check = "test_cross_entropy"
# outcome = "raise"
# error = "AssertionError"
# match = "Please convert all Tensors to FakeTensors first.*aten\\.where\\.self"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# check = "test_cross_entropy"
# outcome = "raise"
# error = "Exception"
# match = "Please convert all Tensors to FakeTensors first.*aten\\.where\\.self"
# ///
"""turbine_cpu decomposes by tracing each graph again, `make_fx(functionalize(gm))(*example_inputs)`.

The backward graph reaches the backend from `loss.backward()`, when the FakeTensorMode of its example inputs
is no longer active: the scalar of `where` becomes a real tensor and meets fake ones, so training fails
although the same forward works. Correct: gradients equal to eager's. `relu`, whose backward needs no scalar
tensor, is the control. The backend registers itself by a package entry point; nothing needs importing.
Source: pytorch issue 92941 (related). The same trap on torch alone: fx_importer_where_scalar.
"""

from collections.abc import Callable

import torch


def _check(function: Callable, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3)
    eager, compiled = x.clone().requires_grad_(), x.clone().requires_grad_()
    function(eager).sum().backward()
    torch.compile(function, backend=backend)(compiled).sum().backward()
    torch.testing.assert_close(compiled.grad, eager.grad)


def test_control(backend: str) -> None:
    _check(lambda h: torch.nn.functional.relu(h), backend)


def test_where(backend: str) -> None:
    _check(lambda h: torch.where(h > 0, h, 0.0), backend)


def test_cross_entropy(backend: str) -> None:
    target = torch.tensor([0, 2, 1, 0])
    _check(lambda h: torch.nn.functional.cross_entropy(h, target), backend)


if __name__ == "__main__":
    test_control("turbine_cpu")
    test_where("turbine_cpu")
    test_cross_entropy("turbine_cpu")
