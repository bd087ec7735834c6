# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148701"
# title = "The gradient of all_gather_tensor_autograd is not waited for, or lost, in aot_eager"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# upstream = "open"
# upstream-seen = 2026-11-24
# requires-torch = ">=2.4"
# labels = ["distributed"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.11"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the gradient is \[0\.0, 0\.0, 0\.0, 0\.0\]'
# ///
"""The collective gives a tensor that waits for its result when it is read. In a compiled graph nothing reads it so,
and the gradient's collective is returned before it is finished. Correct: a gradient of ones for one process.
Source: pytorch issue 148701.
"""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives


def gathered(x: torch.Tensor) -> torch.Tensor:
    return collectives.wait_tensor(collectives.all_gather_tensor_autograd(x, gather_dim=0, group=dist.group.WORLD))


def test_gradient_of_one_process(backend: str) -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = torch.arange(4.0, requires_grad=True)
        torch.compile(gathered, backend=backend)(x).backward(torch.ones(4))
        assert x.grad.tolist() == [1.0] * 4, f"the gradient is {x.grad.tolist()}"
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    test_gradient_of_one_process("aot_eager")
