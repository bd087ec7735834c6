# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194357"
# upstream = "closed"
# upstream-seen = 2026-11-25
# reported-on = "2.13.0"
# title = "Cauchy.icdf(0) of a half tensor has the other sign"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'signs \[1\.0, -1\.0\] of the quantiles of 0 and 1'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "RuntimeError"
# match = "\"tan_vml_cpu\" not implemented for 'Half'"
# blocked = true
# ///
"""tan(pi * (q - 0.5)) at its pole depends on the rounding of its argument. Eager rounds it to half before the tangent,
Inductor fuses in float, and crosses the pole. Correct: eager's signs, minus for 0 and plus for 1.
Source: pytorch issue 194357.
"""

import torch


def quantile(q: torch.Tensor) -> torch.Tensor:
    return torch.distributions.Cauchy(0.0, 1.0).icdf(q)


def test_signs_at_the_ends(device: str, backend: str) -> None:
    q = torch.tensor([0.0, 1.0], dtype=torch.float16, device=device)
    signs = torch.compile(quantile, backend=backend)(q).sign().tolist()
    assert signs == quantile(q).sign().tolist(), f"signs {signs} of the quantiles of 0 and 1"


if __name__ == "__main__":
    test_signs_at_the_ends("cpu", "inductor")
