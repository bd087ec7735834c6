# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/92941"
# upstream = "closed"
# upstream-seen = 2026-11-25
# # The thread was closed by a change for DDPOptimizer alone, pull request 92986.
# title = "A backend that re-traces AOTAutograd's backward graph fails on a `where` against a scalar"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# check = "test_where"
# outcome = "raise"
# error = "AssertionError"
# match = "Please convert all Tensors to FakeTensors first.*aten\\.where\\.self"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
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
# torch = ">=2.1,<2.4"
# check = "test_cross_entropy"
# outcome = "raise"
# error = "Exception"
# match = "Please convert all Tensors to FakeTensors first.*aten\\.where\\.self"
# ///
"""A backend may lower further by tracing its graph again, `make_fx(functionalize(gm))(*example_inputs)`.

The example inputs are fake. The forward graph is compiled while their FakeTensorMode is active, so a scalar
that `where` needs is created fake too. The backward graph is compiled later, from `loss.backward()`, with
no mode active: its scalar becomes a real tensor and meets fake ones. Correct: re-tracing works for the
backward graph as it does for the forward graph, and the gradients are eager's. cross_entropy meets it
through the decomposition of nll_loss_backward. A `relu`, whose backward needs no scalar tensor, is the
control. Torch 2.0 passes. Source: pytorch issue 92941 (the same message and operator, there out of a DDP
graph split; PR 92986).
"""

from collections.abc import Callable

import torch
from functorch.compile import make_boxed_func
from torch._decomp import get_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx

DECOMPOSITIONS = get_decompositions([torch.ops.aten.nll_loss_backward])


def _retrace(gm: torch.fx.GraphModule, example_inputs: list) -> Callable:
    return make_boxed_func(make_fx(functionalize(gm), decomposition_table=DECOMPOSITIONS)(*example_inputs))


def _check(function: Callable, device: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3, device=device)
    eager, compiled = x.clone().requires_grad_(), x.clone().requires_grad_()
    function(eager).sum().backward()
    torch.compile(function, backend=aot_autograd(fw_compiler=_retrace))(compiled).sum().backward()
    torch.testing.assert_close(compiled.grad, eager.grad)


def test_control(device: str) -> None:
    _check(lambda h: torch.nn.functional.relu(h), device)


def test_where(device: str) -> None:
    _check(lambda h: torch.where(h > 0, h, 0.0), device)


def test_cross_entropy(device: str) -> None:
    target = torch.tensor([0, 2, 1, 0], device=device)
    _check(lambda h: torch.nn.functional.cross_entropy(h, target), device)


if __name__ == "__main__":
    test_where("cpu")
    test_cross_entropy("cpu")
    test_control("cpu")
