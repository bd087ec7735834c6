# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159590"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "DTensors that require grad are no key of the sharding cache with dynamic shapes"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.3"
# labels = ["distributed"]
# demands = ["dynamic-shapes", "subclass", "training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <built-in function mul>\(\*\(DTensor\(local_tensor=FakeTensor\(\.\.\., size=\(s0, s1\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'unhashable type: non-nested SymInt'
# ///
"""DTensor looks up how an operator is sharded in a cache whose key holds sizes, and a symbolic size has no hash. The lookup
is to be left out while a graph is traced, but operators still come there where the inputs require grad. Correct:
eager's sum and gradient. A fake process group stands for the real one.
Source: pytorch issue 159590.
"""

import torch
import torch.distributed as dist
from torch.distributed._tensor import DeviceMesh, DTensor, Replicate
from torch.testing._internal.distributed.fake_pg import FakeStore


def product_sum(x: DTensor, y: DTensor) -> DTensor:
    return (x * y).sum()


def test_trained_sum_of_a_product(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = DeviceMesh("cpu", torch.arange(2))
        x, y = (
            DTensor.from_local(torch.ones(4, 3), mesh, [Replicate()], run_check=False).requires_grad_() for _ in "xy"
        )
        actual = torch.compile(product_sum, backend=backend, dynamic=True, fullgraph=True)(x, y)
        actual.backward()
        torch.testing.assert_close(actual.to_local(), torch.tensor(12.0))
        torch.testing.assert_close(x.grad.to_local(), torch.ones(4, 3))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_trained_sum_of_a_product("aot_eager")
