# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/142076"
# fix = "https://github.com/pytorch/pytorch/pull/142075"
# title = "Dynamo burns in that the result of an asynchronous redistribution must be waited for"
# component = "dynamo"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["distributed"]
# demands = ["subclass"]
# requires-torch = ">=2.3"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "'FunctionalTensor' object has no attribute 'wait'"
# ///
"""With async_op=True the local part of a redistributed DTensor is an AsyncCollectiveTensor. Dynamo sees that class in its
example value, decides an isinstance test by it and records the call of wait() in the graph. While AOTAutograd runs that
graph the collective gives a tensor of its own functional class, which has no such method. Correct: eager's gathered
tensor. A fake process group stands for the real one. Source: pytorch issue 142076.
"""

import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed._tensor import DeviceMesh, DTensor, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore


def test_waiting_depends_on_the_class(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = DeviceMesh("cpu", torch.arange(2))

        def gather(x: torch.Tensor) -> torch.Tensor:
            sharded = DTensor.from_local(x, mesh, [Shard(0)], run_check=False)
            local = sharded.redistribute(mesh, [Replicate()], async_op=True).to_local()
            return local.wait() if isinstance(local, AsyncCollectiveTensor) else local

        assert torch.compile(gather, backend=backend)(torch.ones(2)).shape == gather(torch.ones(2)).shape
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_waiting_depends_on_the_class("aot_eager")
