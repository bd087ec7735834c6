# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/192226"
# fix = "https://github.com/pytorch/pytorch/pull/192227"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A user's Triton kernel that writes a part of a view with an offset"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# requires-torch = ">=2.2"
# labels = ["user-triton"]
# demands = ["mutation", "aliasing"]
# ///
"""Functionalization clones the view that a user's Triton kernel changes, strides and storage offset included: it
reads as many elements from the start of the storage. In eager the storage is there; Inductor makes an
intermediate view a buffer of the view's own size, and the clone reads beyond its end. It shows where the kernel
leaves elements as they are. Correct: those keep their values. As reported they held freed memory, and losses
were wrong without a word. Source: pytorch issue 192226 (also 192219), PR 192227.
"""

import torch
import triton
import triton.language as tl

SIZE = 4096


@triton.jit
def write_minus_one(target, count, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(target + offsets, -1.0, mask=offsets < count)


def test_elements_that_the_kernel_leaves(device: str, backend: str) -> None:
    def second_half(x: torch.Tensor) -> torch.Tensor:
        half = (x * 2)[SIZE:]
        write_minus_one[(1,)](half, 16, BLOCK=16)
        return half

    x = torch.arange(2.0 * SIZE, device=device)
    for run in (second_half, torch.compile(second_half, backend=backend, fullgraph=True)):  # eager is the control
        half = run(x)
        wrong = int((half[16:] != 2 * x[SIZE + 16 :]).sum()) + int((half[:16] != -1).sum())
        assert wrong == 0, f"{wrong} of {SIZE} elements are wrong"


if __name__ == "__main__":
    test_elements_that_the_kernel_leaves("cuda", "inductor")
