# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196227"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "DistributedDataParallel's graph split fails at a float between two parts"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["distributed"]
# demands = ["training"]
# requires-torch = ">=2.3"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "'float' object has no attribute 'meta'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = "SpeculationLog diverged"
# ///
"""The optimizer for DistributedDataParallel cuts the graph at bucket boundaries and runs the parts on fake
tensors. A float attribute that differs between the blocks has become a value of the graph, and is handed from one
part to the next, where a tensor is expected. Correct: eager's output. A fake process group stands for the real
one. Source: pytorch issue 196227.
"""

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


class Block(torch.nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(512, 512), torch.nn.Linear(512, 512)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keep = 1.0 - self.scale
        x = x + self.first(x) * keep
        return x + self.second(x) * keep


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(0.0), Block(0.1), Block(0.2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            torch._dynamo.graph_break()
            x = block(x)
        return x


def test_blocks_that_differ_in_a_float(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(Model(), bucket_cap_mb=1)
        x = torch.ones(2, 512)
        torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_blocks_that_differ_in_a_float("aot_eager")
