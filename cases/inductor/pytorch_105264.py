# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/105264"
# fix = "https://github.com/pytorch/pytorch/pull/113253"
# title = "A sum of uint8 does not wrap before it is cast to int16"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = '128, 200 and 3 doubled in uint8 are \[256, 400, 6\]'
# ///
"""C++ adds unsigned chars as ints, and the fused cast to int16 sees the sum that should have wrapped. Correct: 128 + 128
is 0 in uint8.
Source: pytorch issue 105264.
"""

import torch


def doubled(x: torch.Tensor) -> torch.Tensor:
    return (x + x).to(torch.int16)


def test_sum_wraps(device: str, backend: str) -> None:
    x = torch.tensor([128, 200, 3], dtype=torch.uint8, device=device)
    values = torch.compile(doubled, backend=backend)(x).tolist()
    assert values == [0, 144, 6], f"128, 200 and 3 doubled in uint8 are {values}"


if __name__ == "__main__":
    test_sum_wraps("cpu", "inductor")
