# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143648"
# fix = "https://github.com/pytorch/pytorch/pull/144058"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "polygamma of order 0 is minus infinity everywhere"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "3 of 3 values are infinite"
# ///
"""Eager computes the polygamma function of order 0 as digamma. The generated code calls the formula of the higher orders
for it, in which the zeta function of one is infinite. Correct: digamma in double precision to five digits.
Source: pytorch issue 143648, PR 144058.
"""

import torch


def digamma(x: torch.Tensor) -> torch.Tensor:
    return torch.special.polygamma(0, x)


def test_order_zero(device: str, backend: str) -> None:
    x = torch.tensor([0.5, 2.0, 10.0], device=device)
    actual = torch.compile(digamma, backend=backend)(x)
    infinite = int(actual.isinf().sum())
    assert infinite == 0, f"{infinite} of 3 values are infinite"
    torch.testing.assert_close(actual.double(), digamma(x.double()), rtol=1e-5, atol=0)


if __name__ == "__main__":
    test_order_zero("cpu", "inductor")
