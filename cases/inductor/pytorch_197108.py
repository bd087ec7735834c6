# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197108"
# title = "var_mean of an empty tensor has the mean 0"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'of no numbers the variance is nan and the mean 0\.0'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'of no numbers the variance is -0\.0 and the mean nan'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "WelfordReduction\\.create\\.<locals>\\.const\\(\\) missing \\d+ required positional argument: 'val'"
# blocked = true
# ///
"""Inductor computes both by Welford's recurrence, which starts at a mean of 0 and never divides by the count.
Correct: NaN for both, as eager.
Source: pytorch issue 197108.
"""

import torch


def moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.var_mean(x)


def test_empty_tensor(device: str, backend: str) -> None:
    variance, mean = (value.item() for value in torch.compile(moments, backend=backend)(torch.empty(0, device=device)))
    assert variance != variance and mean != mean, f"of no numbers the variance is {variance} and the mean {mean}"


def bench_moments_of_rows(device: str) -> tuple:
    def moments_of_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.var_mean(x, dim=1)

    return moments_of_rows, (torch.randn(256, 4096, device=device),)


if __name__ == "__main__":
    test_empty_tensor("cpu", "inductor")
