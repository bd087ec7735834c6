# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148241"
# fix = "https://github.com/pytorch/pytorch/pull/148254"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "tanh of small floats is off by a thousandth in vectorized code"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'tanh of 1e-5 is off by 0\.1%'
# ///
"""The vectorized tanh is 2 / (1 + exp(-2x)) - 1: of a small argument the difference of two numbers near one keeps few
digits, and near the epsilon of a float none. The thread shows it through the sign that atan2 makes of them. Eager calls
a function of the math library. Correct: tanh in double precision to five digits.
Source: pytorch issue 148241, PR 148254.
"""

import torch


def tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x)


def test_small_floats(device: str, backend: str) -> None:
    x = torch.full((64,), 1e-5, device=device)
    expected = torch.tanh(x.double())
    torch.testing.assert_close(tanh(x).double(), expected, rtol=1e-6, atol=0)
    actual = torch.compile(tanh, backend=backend)(x).double()
    error = ((actual - expected) / expected).abs().max().item()
    assert error < 1e-5, f"tanh of 1e-5 is off by {error:.1%}"


if __name__ == "__main__":
    test_small_floats("cpu", "inductor")
