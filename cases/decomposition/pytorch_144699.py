# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144699"
# fix = "https://github.com/pytorch/pytorch/pull/158898"
# title = "full_like of a transposed tensor has contiguous strides"
# component = "decomposition"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager_decomp_partition"]
# labels = ["strides"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.9"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(30, 5, 1\\), eager's are \\(30, 1, 6\\)"
# ///
"""Eager's full_like keeps the order of a dense tensor's strides. Its decomposition fills a new tensor of the size alone.
Correct: eager's strides.
Source: pytorch issue 144699.
"""

import torch


def filled(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, 3)


def test_strides_of_the_input(device: str, backend: str) -> None:
    x = torch.zeros(4, 5, 6, device=device).transpose(1, 2)
    strides = torch.compile(filled, backend=backend)(x).stride()
    assert strides == filled(x).stride(), f"strides {strides}, eager's are {filled(x).stride()}"


if __name__ == "__main__":
    test_strides_of_the_input("cpu", "aot_eager_decomp_partition")
