# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172549"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A DTensor returned together with its detached alias breaks the partitioner"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["distributed"]
# demands = ["training", "aliasing", "subclass"]
# requires-torch = ">=2.3"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Node (mul|view_2) was invalid, but is output"
# ///
"""Two outputs of the graph are DTensors over the same memory, one with gradient and one detached. AOTAutograd counts the
outputs and their tangents once as DTensors and once as the plain tensors inside; with the alias the two counts do not
agree, and the split into forward and backward graph takes a gradient for a forward output. Correct: both outputs, as
eager. A fake process group stands for the real one. Source: pytorch issue 172549.
"""

import torch
import torch.distributed as dist
from torch.distributed._tensor import DeviceMesh, DTensor, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore


def test_output_and_its_detached_alias(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = DeviceMesh("cpu", torch.arange(2))
        x = DTensor.from_local(torch.ones(2, 4), mesh, [Shard(0)], run_check=False).requires_grad_()

        def sine(x: DTensor) -> tuple[DTensor, DTensor]:
            out = DTensor.from_local(x.to_local().sin(), mesh, [Shard(0)], run_check=False)
            return out.detach(), out

        for actual, expected in zip(torch.compile(sine, backend=backend)(x), sine(x)):
            torch.testing.assert_close(actual.to_local(), expected.to_local())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_output_and_its_detached_alias("aot_eager")
