# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/157479"
# fix = "https://github.com/pytorch/pytorch/pull/157521"
# title = "all_to_all_single_autograd takes no symbolic split sizes"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["distributed"]
# demands = ["training", "dynamic-shapes"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '_c10d_functional_autograd\.all_to_all_single[\s\S]*isIntList\(\) INTERNAL ASSERT FAILED'
# ///
"""Without split sizes the differentiable all-to-all divides the first dimension by the number of ranks. With dynamic
shapes the quotient is symbolic, but the operator was registered in C++ with lists of plain integers, so an internal
assertion fails while Dynamo runs it on fake tensors. Correct: one graph, and a result of the input's shape. A fake
process group stands for the real one. Source: pytorch issue 157479, PR 157521.
"""

import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.testing._internal.distributed.fake_pg import FakeStore


def exchange(x: torch.Tensor) -> torch.Tensor:
    return all_to_all_single_autograd(x, None, None, dist.group.WORLD)


def test_equal_parts_of_a_dynamic_dimension(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        x = torch.ones(8, 4, requires_grad=True)
        assert torch.compile(exchange, backend=backend, dynamic=True)(x).shape == exchange(x).shape
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_equal_parts_of_a_dynamic_dimension("eager")
