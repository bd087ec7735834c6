# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/103481"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A mean over four of six dimensions and a scalar: the Triton kernel does not compile"
# component = "inductor"
# symptom = "triton"
# devices = ["cuda"]
# demands = []
# ///
"""The mean is added to a tensor without dimensions in the kernel of the reduction. The report puts the failure
into Triton, whose compiler stops in that kernel; the input needs six dimensions, with five the same function
compiled. Correct: it compiles and equals eager. As reported the compiler error came out of the compiled
function's first call, found in a model for fonts. Source: pytorch issue 103481.
"""

import torch


def mean_and_scalar(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.mean(x, [2, 3, 4, 5], keepdim=True) + y


def test_mean_over_four_of_six_dimensions(device: str, backend: str) -> None:
    x, y = torch.arange(4.0**6, device=device).reshape([4] * 6), torch.tensor(0.5, device=device)
    torch.testing.assert_close(torch.compile(mean_and_scalar, backend=backend)(x, y), mean_and_scalar(x, y))


if __name__ == "__main__":
    test_mean_over_four_of_six_dimensions("cuda", "inductor")
