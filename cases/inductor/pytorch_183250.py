# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183250"
# fix = "https://github.com/pytorch/pytorch/pull/183653"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The backward of a long cumprod does not compile"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# labels = ["scan"]
# demands = ["training"]
# ///
"""The gradient of cumprod is a scan with a reduction beside it (the position of the first zero). From 8193
elements on the scan is split over blocks, and the reduction is put into the same split-scan kernel, which has
no code for reductions; no other kernel is tried. Correct: gradients as in eager, here 8193, 8192, ... 1. As
reported: NotImplementedError, NYI TritonSplitDimKernel reductions; the forward pass and cumsum of the same
length worked. Source: pytorch issue 183250.
"""

import torch


def total(x: torch.Tensor) -> torch.Tensor:
    return torch.cumprod(x, dim=1).sum()


def test_gradient_of_8193_factors(device: str, backend: str) -> None:
    def gradient(function) -> torch.Tensor:
        x = torch.ones(2, 8193, device=device, requires_grad=True)
        function(x).backward()
        return x.grad

    expected = torch.arange(8193.0, 0.0, -1.0, device=device).expand(2, -1)
    torch.testing.assert_close(gradient(total), expected)
    torch.testing.assert_close(gradient(torch.compile(total, backend=backend)), expected)


if __name__ == "__main__":
    test_gradient_of_8193_factors("cuda", "inductor")
