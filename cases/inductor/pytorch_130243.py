# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130243"
# fix = "https://github.com/pytorch/pytorch/pull/137064"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A user's Triton kernel gets an intermediate tensor with other strides"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# requires-torch = ">=2.2"
# labels = ["user-triton"]
# demands = ["mutation"]
# ///
"""Inductor chooses the strides of intermediate tensors. A user's Triton kernel gets a pointer and walks through
memory, so for it the strides are part of the value. Here the negation of a column-major tensor is column-major
in eager, and its transpose contiguous; Inductor stores the negation row by row and passes the pointer on.
Correct: the kernel reads the transpose row by row, as in eager. As reported the values came out in another
order. torch 2.6 keeps the strides of a user kernel's arguments. Source: pytorch issue 130243.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_memory(source, target, count, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=mask), mask=mask)


def test_memory_of_an_intermediate_tensor(device: str, backend: str) -> None:
    def negated(x: torch.Tensor) -> torch.Tensor:
        column_major = x.t().contiguous().t()
        y = column_major.neg().t()
        target = torch.empty(y.shape, device=y.device)
        copy_memory[(1,)](y, target, y.numel(), BLOCK=16)
        return target

    x = torch.arange(6.0, device=device).reshape(2, 3)
    for run in (negated, torch.compile(negated, backend=backend, fullgraph=True)):  # eager is the control
        actual = run(x).neg().tolist()
        assert actual == [[0, 3], [1, 4], [2, 5]], f"the transpose is {actual}"


if __name__ == "__main__":
    test_memory_of_an_intermediate_tensor("cuda", "inductor")
