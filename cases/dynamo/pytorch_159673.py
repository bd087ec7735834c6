# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/159673"
# fix = "https://github.com/pytorch/pytorch/pull/159673"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A zip of nothing is traced without end"
# component = "dynamo"
# symptom = "hang"
# devices = ["cpu"]
# timeout = 30
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "timeout"
# frame = '(^|symbolic_convert\.py:\d+ (BINARY_OP|FOR_ITER|\w*_FAST|jump|starts_line)\n)(\S+ step\n)?\S+ run\n\S+convert_frame\.py:\d+ \w+\n'
# ///
"""Dynamo's zip asks each of its iterators for the next value and ends when one has none. Of no iterators none ever ends.
Correct: a zip of nothing is empty.
Source: pytorch pull request 159673.
"""

import torch


def add_nothing(x: torch.Tensor) -> torch.Tensor:
    for _ in zip():
        x = x + 1
    return x + 2


def test_empty_zip(device: str, backend: str) -> None:
    actual = torch.compile(add_nothing, backend=backend)(torch.zeros(2, device=device))
    assert actual.eq(2).all(), f"0 + 2 is {actual[0].item()}"


if __name__ == "__main__":
    test_empty_zip("cpu", "eager")
