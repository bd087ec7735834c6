# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/142839"
# fix = "https://github.com/pytorch/pytorch/pull/145061"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Instance norm of a large plane is off by a thousand times eager's error"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = "the normalized plane is off by 5e-04"
# ///
"""The generated Welford reduction goes through the nine million values of a plane one vector after the other, so the
rounding errors of mean and variance grow with their number. Eager adds in a cascade, and is right to seven digits.
Correct: the plane normalized in double precision to four digits.
Source: pytorch issue 142839 (also 141541, 143182), PR 145061.
"""

import torch


def test_large_plane(device: str, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 1, 3000, 3000, device=device)

    def normalized(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.instance_norm(x)

    expected = normalized(x.double())
    assert (normalized(x) - expected).abs().max() < 1e-5, "eager is off"
    error = (torch.compile(normalized, backend=backend)(x) - expected).abs().max().item()
    assert error < 1e-4, f"the normalized plane is off by {error:.0e}"


if __name__ == "__main__":
    test_large_plane("cpu", "inductor")
