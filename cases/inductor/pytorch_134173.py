# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/134173"
# fix = "https://github.com/pytorch/pytorch/pull/172578"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "torch.empty with pin_memory=True has no lowering"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# labels = ["pinned-memory"]
# demands = []
# ///
"""A constructor with pin_memory=True asks for host memory that CUDA can copy from without waiting. Inductor's
lowering of empty refuses the argument instead of passing it on to its allocation (saved tensors that are
offloaded to pinned memory meet it in compiled autograd). Correct: a pinned tensor, as in eager. As reported:
LoweringException, NotImplementedError, inductor does not support pin_memory. Source: pytorch issue 134173, PR
172578.
"""

import torch


def pinned_like(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(x.size(0), pin_memory=True), x + 1


def test_pinned_empty(device: str, backend: str) -> None:
    x = torch.zeros(5, device=device)
    assert pinned_like(x)[0].is_pinned()
    buffer, y = torch.compile(pinned_like, backend=backend)(x)
    assert buffer.is_pinned() and buffer.shape == (5,), "the compiled function returns memory that is not pinned"
    torch.testing.assert_close(y, x + 1)


if __name__ == "__main__":
    test_pinned_empty("cuda", "inductor")
