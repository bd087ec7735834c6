# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/152954"
# fix = "https://github.com/pytorch/pytorch/pull/157953"
# reported-on = "2.7.0"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A slice of a DTensor up to a symbolic size"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.3"
# labels = ["distributed"]
# demands = ["dynamic-shapes", "subclass"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'call_function <built-in function getitem>[\s\S]*\nunhashable type: non-nested SymInt'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'call_function <built-in function getitem>\(\*\(DTensor\('
# frame = 'gen_slice_strategy'
# ///
"""The rule by which a slice of a DTensor is sharded asks for its bounds as plain integers, and with dynamic shapes they are
symbolic. Correct: one more than the first half of the rows. A fake process group stands for the real one.
Source: pytorch issue 152954.
"""

import torch
import torch.distributed as dist
from torch.distributed._tensor import DeviceMesh, DTensor, Replicate
from torch.testing._internal.distributed.fake_pg import FakeStore


def half_and_one(x: DTensor) -> DTensor:
    return x[: x.shape[0] // 2] + 1


def test_slice_up_to_half(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = DeviceMesh("cpu", torch.arange(2))
        x = DTensor.from_local(torch.ones(6, 2), mesh, [Replicate()], run_check=False)
        actual = torch.compile(half_and_one, backend=backend, dynamic=True, fullgraph=True)(x)
        torch.testing.assert_close(actual.to_local(), torch.full((3, 2), 2.0))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_slice_up_to_half("aot_eager")
