# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174280"
# fix = "https://github.com/pytorch/pytorch/pull/174644"
# title = "A synchronous all_reduce in a compiled function returns a tensor instead of None"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["distributed"]
# demands = ["mutation"]
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "synchronous all_reduce returned a value, not None"
# ///
"""torch.distributed.all_reduce updates its argument and returns None unless async_op is set. Dynamo replaces the call
by a functional collective and a copy into the argument, and hands on the tensor of that copy as the result of the
call, so a program that asks whether it got a handle takes the other branch. Correct: None, as without compiling.
A fake process group stands for the real one. Source: pytorch issue 174280.
"""

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


def reduce_and_say(x: torch.Tensor) -> tuple[torch.Tensor, str]:
    total = x + 1
    handle = dist.all_reduce(total)
    return total, "nothing" if handle is None else "a value"


def test_result_of_a_synchronous_reduction(backend: str) -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    try:
        _, said = torch.compile(reduce_and_say, backend=backend)(torch.ones(4))
        assert said == reduce_and_say(torch.ones(4))[1], f"synchronous all_reduce returned {said}, not None"
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_result_of_a_synchronous_reduction("eager")
