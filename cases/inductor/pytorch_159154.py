# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159154"
# fix = "https://github.com/pytorch/pytorch/pull/160857"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "einsum softmax chain overruns a local buffer in the C++ kernel"
# component = "inductor"
# symptom = "crash"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "crash"
# signal = "SIGABRT"
# output = 'free\(\): invalid next size \(\w+\)\nFatal Python error: Aborted\n\nCurrent thread [^\n]+first\):\n  File "[^"\n]+", line \d+ in call\n'
# ///
"""The C++ backend fuses the loops of a producer, a reduction and a consumer and keeps the intermediate in a
local buffer. It sizes that buffer by the innermost loop alone (512 elements), while the kernel writes all
2 x 512 of them: a heap overrun. A buffer of more than 1 KiB is freed past malloc's per-thread cache, which
looks at the chunk behind it and so notices; smaller ones crash now and then. That is glibc's malloc: another
may notice nothing, or later, and the check is skipped there. From 2.7 on nothing larger than 2 x 512 is kept
in such a buffer. Correct: eager's result. Source: pytorch issue 159154.
"""

import platform
import unittest

import torch


def normalise(x: torch.Tensor, rates: torch.Tensor) -> torch.Tensor:
    weights = torch.exp(-torch.einsum("i...,i->i...", x, rates))
    return torch.einsum("i,i...->i...", 1 / torch.einsum("i...->i", weights), weights)


def test_normalised_exponentials(device: str, backend: str) -> None:
    if platform.libc_ver()[0] != "glibc":
        raise unittest.SkipTest("the overrun is noticed by glibc's malloc")
    compiled = torch.compile(normalise, backend=backend)
    torch.manual_seed(0)
    x, rates = torch.rand(5, 1, 2, 512, device=device), torch.rand(5, device=device)
    for _ in range(3):
        torch.testing.assert_close(compiled(x, rates), normalise(x, rates))


if __name__ == "__main__":
    test_normalised_exponentials("cpu", "inductor")
