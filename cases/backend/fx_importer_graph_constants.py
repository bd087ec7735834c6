# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/nod-ai/AMD-SHARK-ModelDev/pull/37"
# title = "A tensor made from Python values inside forward reaches a backend as an attribute, not as an input"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# guard = true
# ///
"""`torch.tensor([1, 2])` in a compiled function has no placeholder: it is stored on the graph module.

A `get_attr` node `_tensor_constant0` feeds `lift_fresh_copy`, and an importer that only knows placeholders
meets an unknown value. (A 0-d one may become `full`; up to torch 2.2 a complex one is made outside the graph
and arrives as an input.) It must read the attribute's data, whatever the dtype, and while compilers run
under a FakeTensorMode it must leave that mode first: `.to(torch.uint8)` on the attribute is refused inside
it. The guard: with the modes off, the attribute is a real tensor with the written values. Tried: six
dtypes, recording backend. Source: nod-ai/AMD-SHARK-ModelDev PR 37. The real backend:
turbine_lift_fresh_copy.
"""

from collections.abc import Callable

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch.utils._python_dispatch import _disable_current_modes


def _check(values: object, dtype: torch.dtype, device: str) -> None:
    # Another list for the same code would be of symbols, which are no constant.
    torch._dynamo.reset()
    constants: list = []
    operations: list = []

    def importing(gm: torch.fx.GraphModule, example_inputs: list) -> Callable:
        for node in gm.graph.nodes:
            operations.append(str(node.target) if node.op == "call_function" else node.op)
            if node.op == "get_attr":
                with _disable_current_modes():
                    constants.append(getattr(gm, node.target).detach().clone())
        return make_boxed_func(gm.forward)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(values, dtype=dtype, device=device)

    x = torch.tensor([1, 1], device=device).to(dtype)
    expected = function(x)
    actual = torch.compile(function, backend=aot_autograd(fw_compiler=importing))(x)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    if constants:
        assert type(constants[0]) is torch.Tensor, type(constants[0])
        torch.testing.assert_close(constants[0].cpu(), torch.tensor(values, dtype=dtype), rtol=0, atol=0)
    folded = "aten.full.default" in operations or operations.count("placeholder") == 2
    assert constants or folded, operations


def test_int64(device: str) -> None:
    _check([1, 2], torch.int64, device)


def test_zero_dim(device: str) -> None:
    _check(3, torch.int64, device)


def test_float32(device: str) -> None:
    _check([1.0, 2.5], torch.float32, device)


def test_bool(device: str) -> None:
    _check([True, False], torch.bool, device)


def test_bfloat16(device: str) -> None:
    _check([1.0, 2.5], torch.bfloat16, device)


def test_complex64(device: str) -> None:
    _check([1 + 2j, 3 - 1j], torch.complex64, device)


if __name__ == "__main__":
    test_int64("cpu")
    test_zero_dim("cpu")
    test_float32("cpu")
    test_bool("cpu")
    test_bfloat16("cpu")
    test_complex64("cpu")
