# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/189803"
# fix = "https://github.com/pytorch/pytorch/pull/190533"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "elu of small negative floats is off by a thousandth in vectorized code"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = 'elu of -1e-5 is off by 0\.1%'
# ///
"""The vectorized code computes the expm1 in elu as exp(x) - 1, and of a small argument the difference keeps few digits.
Eager's elu did so, too, until it called a function of the math library; the thread divides by what is left. Correct: elu
in double precision to five digits.
Source: pytorch issue 189803, PR 190533.
"""

import torch


def activated(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.elu(x)


def test_small_negative_floats(device: str, backend: str) -> None:
    x = torch.full((64,), -1e-5, device=device)
    expected = torch.expm1(x.double())
    actual = torch.compile(activated, backend=backend)(x).double()
    error = ((actual - expected) / expected).abs().max().item()
    assert error < 1e-5, f"elu of -1e-5 is off by {error:.1%}"


if __name__ == "__main__":
    test_small_negative_floats("cpu", "inductor")
