# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/97365"
# fix = "https://github.com/pytorch/pytorch/pull/108690"
# title = "A negative computed index is not wrapped in CPU kernels"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "reads \\[9.0, 9.0, 9.0, 9.0\\]"
# ///
"""Indexing with an integer tensor counts negative indices from the end. The C++ kernel used a computed index as
it is, so -1 reads the memory before the tensor. Correct: the last element, as in eager. (The tensor is a
slice of a larger one, which makes the value read in error the same each time.)
Source: pytorch issue 97365.
"""

import torch


def previous(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return values[index - 1]


def test_negative_computed_index(device: str, backend: str) -> None:
    values = torch.arange(20.0, device=device)[10:]
    index = torch.zeros(4, dtype=torch.int64, device=device)
    actual = torch.compile(previous, backend=backend)(values, index).tolist()
    assert actual == [19.0] * 4, f"index -1 of 10.0 to 19.0 reads {actual}"


def bench_computed_index(device: str) -> tuple:
    index = torch.randint(1, 10_000, (300_000,), device=device)
    return previous, (torch.randn(10_000, device=device), index)


if __name__ == "__main__":
    test_negative_computed_index("cpu", "inductor")
