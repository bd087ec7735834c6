# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/127310"
# upstream = "closed"
# upstream-seen = 2026-11-25
# # The thread names no change: a later build was right, and pull request 127731 added a test.
# title = "A right shift of a negative random integer is a logical one"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "-1 shifted right by 31 is 8589934591"
# ///
"""The vectorized or scalar code of randint computes in an unsigned type, and the shift of the value that stays in it fills
with zeros. Correct: -1 shifted right is -1.
Source: pytorch issue 127310.
"""

import torch


def shifted_minus_one() -> torch.Tensor:
    return torch.bitwise_right_shift(torch.randint(-1, 0, (1, 1, 1), dtype=torch.int64), 31)


def test_sign_stays(backend: str) -> None:
    value = torch.compile(shifted_minus_one, backend=backend)().item()
    assert value == -1, f"-1 shifted right by 31 is {value}"


if __name__ == "__main__":
    test_sign_stays("inductor")
