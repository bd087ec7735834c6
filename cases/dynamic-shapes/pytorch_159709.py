# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159709"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The sum of DTensors of three dimensions that require grad loses a symbolic size"
# component = "dynamic-shapes"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.3"
# labels = ["distributed"]
# demands = ["dynamic-shapes", "subclass", "training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'unhashable type: non-nested SymInt'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 's\d+\*s\d+ \(\d+\)is not tracked with proxy'
# ///
"""For three dimensions the strides of a DTensor are products of symbolic sizes. Where the inputs require grad AOTAutograd
meets such a product that no node of its graph stands for. Correct: the sum. A fake process group stands for the
real one.
Source: pytorch issue 159709.
"""

import torch
import torch.distributed as dist
from torch.distributed._tensor import DeviceMesh, DTensor, Replicate
from torch.testing._internal.distributed.fake_pg import FakeStore


def test_sum_with_gradients(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = DeviceMesh("cpu", torch.arange(2))
        x, y = (
            DTensor.from_local(torch.ones(shape, requires_grad=True), mesh, [Replicate()], run_check=False)
            for shape in ((5, 10, 5), (5, 10, 5))
        )
        actual = torch.compile(torch.add, backend=backend, dynamic=True, fullgraph=True)(x, y)
        torch.testing.assert_close(actual.to_local(), torch.add(x, y).to_local())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_sum_with_gradients("aot_eager")
