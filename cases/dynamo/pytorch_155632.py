# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/155632"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Compiled all_gather_into_tensor cannot stack the parts along a new dimension"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["distributed"]
# demands = ["mutation"]
# requires-torch = ">=2.3"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'copy_\(\*\(FakeTensor\(\.\.\., size=\(2, 4\)\), FakeTensor\(\.\.\., size=\(8,\)\)\)'
# ///
"""all_gather_into_tensor concatenates the parts of the ranks, or stacks them where the output has one more dimension.
Dynamo replaces it by the functional all-gather, which only concatenates, followed by a copy into the output: two parts
of four elements make eight, which do not fit an output of two rows. Correct: an output of shape (2, 4) is filled.
A fake process group stands for the real one, and is named: Dynamo of torch 2.4 to 2.6 breaks the graph where none
is, that of 2.3 where one is, and that of 2.2 cannot trace it. Source: pytorch issue 155632.
"""

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


def stack(part: torch.Tensor) -> torch.Tensor:
    rows = torch.zeros(2, 4)
    dist.all_gather_into_tensor(rows, part * 1, group=dist.group.WORLD)
    return rows


def test_parts_become_rows(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        part = torch.ones(4)
        assert torch.compile(stack, backend=backend)(part).shape == stack(part).shape
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_parts_become_rows("eager")
