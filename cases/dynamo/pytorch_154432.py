# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/154432"
# fix = "https://github.com/pytorch/pytorch/pull/154830"
# title = "torch.Size + tuple is a plain tuple in compiled code"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = "x.shape \\+ \\(7,\\) is a tuple"
# ///
"""torch.Size overrides addition so that a Size plus a tuple stays a Size. Dynamo's variable for a Size fell back
to the addition of tuples and reconstructed a plain tuple, which code that asks isinstance(s, torch.Size) or
calls numel() on it notices. Correct: torch.Size, as in eager.
Source: pytorch issue 154432.
"""

import torch


def append_dimension(x: torch.Tensor) -> tuple[torch.Tensor, tuple[int, ...]]:
    return x + 1, x.shape + (7,)


def test_size_plus_tuple(device: str, backend: str) -> None:
    _, size = torch.compile(append_dimension, backend=backend)(torch.ones(2, device=device))
    assert type(size) is torch.Size, f"x.shape + (7,) is a {type(size).__name__}, not a torch.Size"
    assert size == (2, 7), f"x.shape + (7,) is {tuple(size)}"


if __name__ == "__main__":
    test_size_plus_tuple("cpu", "eager")
