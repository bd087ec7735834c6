# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/188545"
# fix = "https://github.com/pytorch/pytorch/pull/188556"
# title = "special.bessel_y0 of inf is NaN in eager and 0 in a Triton kernel"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-24
# devices = ["cuda"]
# demands = []
# ///
"""Eager's kernel evaluates an asymptotic series of Y0 with the sine and cosine of its argument in it, and gets NaN
for inf. Inductor calls another implementation, libdevice.y0, which returns the limit, 0. Correct: the value of
eager, as upstream decided (PR 188556), though the limit is the better number. As reported, for float64
[nan, inf, -inf]: [nan, nan, nan] in eager, [nan, 0, nan] compiled. Source: pytorch issue 188545.
"""

import torch


def bessel(x: torch.Tensor) -> torch.Tensor:
    return torch.special.bessel_y0(x)


def test_infinite_argument(device: str, backend: str) -> None:
    x = torch.tensor([float("nan"), float("inf"), float("-inf"), 1.0], device=device, dtype=torch.float64)
    torch.testing.assert_close(torch.compile(bessel, backend=backend)(x), bessel(x), equal_nan=True)


if __name__ == "__main__":
    test_infinite_argument("cuda", "inductor")
