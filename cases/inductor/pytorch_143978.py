# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143978"
# fix = "https://github.com/pytorch/pytorch/pull/186018"
# title = "sin(atan(nan)) is 1"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "sin\\(atan\\(nan\\)\\) is 1\\.0"
# ///
"""Inductor compiles its kernels with a part of -ffast-math. With those flags GCC may rewrite sin(atan(x)) as
x / sqrt(x * x + 1), and as 1 with x's sign where x is large; a NaN ends up on that side. It shows in scalar code, so
for a single element, and depends on the compiler. Correct: NaN. Source: pytorch issue 143978, PR 186018.
"""

import torch


def sine_of_angle(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(torch.atan(x))


def test_nan_stays_nan(device: str, backend: str) -> None:
    x = torch.full((1,), float("nan"), device=device)
    actual = torch.compile(sine_of_angle, backend=backend)(x).item()
    assert actual != actual, f"sin(atan(nan)) is {actual}"


def bench_sine_of_angle(device: str) -> tuple:
    return sine_of_angle, (torch.randn(300_000, device=device),)


if __name__ == "__main__":
    test_nan_stays_nan("cpu", "inductor")
