# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/llvm/torch-mlir/pull/2065"
# fix = "https://github.com/llvm/torch-mlir/pull/2065"
# title = "Functional pooling reaches a backend with its stride absent or as an empty list"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# guard = true
# ///
"""`F.max_pool2d(x, 8)` means stride = kernel size, yet no graph that a backend is given says so.

Trailing default arguments are left out of the forward graph, and the backward graph spells the schema's
default, an empty list; `nn.MaxPool2d(8)` passes 8. An importer that indexes the stride list fails with
"list index out of range". The guard: a backend that binds arguments by the schema and reads an empty stride
as the kernel size gets eager's values and gradients on every release. Tried: both functional calls and the
module, recording backend, torch 2.1.2 to 2.15.0. Source: llvm/torch-mlir PR 2065. The real backend:
turbine_functional_pooling.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


class Importer(torch.fx.Interpreter):
    """Runs a graph with every pooling argument made explicit, and notes how each stride had been spelled."""

    spellings: list

    def call_function(self, target: Callable, args: tuple, kwargs: dict) -> object:
        if "pool2d" in str(target):
            parameters = [argument.name for argument in target._schema.arguments]
            bound = {argument.name: argument.default_value for argument in target._schema.arguments}
            bound.update(zip(parameters, args), **kwargs)
            given = len(args) > parameters.index("stride") or "stride" in kwargs
            name = target._schema.name.split("::")[1]
            self.spellings.append((name, bound["stride"] if given else "absent"))
            bound["stride"] = bound["stride"] or bound["kernel_size"]
            args, kwargs = tuple(bound[name] for name in parameters), {}
        return super().call_function(target, args, kwargs)


def _spellings(pool: Callable, device: str) -> dict:
    torch.manual_seed(0)
    spellings: list = []

    def importing(gm: torch.fx.GraphModule, example_inputs: list) -> Callable:
        importer = Importer(gm)
        importer.spellings = spellings
        return make_boxed_func(importer.run)

    x = torch.randn(1, 2, 16, 16, device=device)
    eager, compiled = x.clone().requires_grad_(), x.clone().requires_grad_()
    expected = pool(eager)
    expected.sum().backward()
    actual = torch.compile(pool, backend=aot_autograd(fw_compiler=importing))(compiled)
    actual.sum().backward()
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(compiled.grad, eager.grad)
    return dict(spellings)


def test_max_pool2d(device: str) -> None:
    seen = _spellings(lambda x: F.max_pool2d(x, 8), device)
    assert seen == {"max_pool2d_with_indices": "absent", "max_pool2d_with_indices_backward": []}, seen


def test_avg_pool2d(device: str) -> None:
    seen = _spellings(lambda x: F.avg_pool2d(x, 8), device)
    assert seen == {"avg_pool2d": "absent", "avg_pool2d_backward": []}, seen


def test_module(device: str) -> None:
    module = torch.nn.MaxPool2d(8)
    seen = _spellings(lambda x: module(x), device)
    assert seen == {"max_pool2d_with_indices": [8, 8], "max_pool2d_with_indices_backward": [8, 8]}, seen


if __name__ == "__main__":
    test_max_pool2d("cpu")
    test_avg_pool2d("cpu")
    test_module("cpu")
