# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/132196"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A user's Triton kernel that writes two outputs"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# requires-torch = ">=2.2"
# labels = ["user-triton"]
# demands = ["mutation"]
# ///
"""Two empty tensors of equal size are one node after the elimination of common subexpressions, which the
partitioner of a graph with gradients runs (hence the differentiable third output). A user's Triton kernel that
fills both gets that node twice; functionalization's copies keep the results apart, until Inductor's reinplacing
pass takes both copies out. Correct: the doubled input, and one more in the second output. As reported wrong
values came without a word. torch 2.5 leaves empty tensors alone and one of the copies in place. Source: pytorch
issue 132196.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def two_outputs(source, first, second, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    doubled = 2 * tl.load(source + offsets, mask=mask)
    tl.store(first + offsets, doubled, mask=mask)
    tl.store(second + offsets, doubled + 1, mask=mask)


def test_both_outputs(device: str, backend: str) -> None:
    def doubled_and_one_more(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        first, second = torch.empty_like(x), torch.empty_like(x)
        two_outputs[(1,)](x, first, second, x.numel(), BLOCK=16)
        return first, second, x.sin()

    x = torch.arange(3.0, device=device, requires_grad=True)
    for run in (doubled_and_one_more, torch.compile(doubled_and_one_more, backend=backend, fullgraph=True)):
        first, second, _ = run(x)
        assert (first.tolist(), second.tolist()) == ([0, 2, 4], [1, 3, 5]), f"{first.tolist()}, {second.tolist()}"


if __name__ == "__main__":
    test_both_outputs("cuda", "inductor")
