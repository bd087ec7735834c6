# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/168381"
# fix = "https://github.com/pytorch/pytorch/pull/168922"
# title = "index_select of a transposed tensor keeps the transposed strides"
# component = "decomposition"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["strides"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(30, 15, 1, 5\\), eager's are \\(30, 15, 3, 1\\)"
# ///
"""Eager's index_select gives a contiguous tensor. Its decomposition is an index expression, whose result has the
layout of the input. Correct: eager's strides.
Source: pytorch issue 168381.
"""

import torch


def selected(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.index_select(x, 1, index)


def test_result_is_contiguous(device: str, backend: str) -> None:
    x = torch.arange(120.0, device=device).reshape(2, 3, 4, 5).permute(0, 2, 3, 1)
    index = torch.tensor([1, 0], device=device)
    strides = torch.compile(selected, backend=backend)(x, index).stride()
    assert strides == selected(x, index).stride(), f"strides {strides}, eager's are {selected(x, index).stride()}"


if __name__ == "__main__":
    test_result_is_contiguous("cpu", "inductor")
