# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/111952"
# fix = "https://github.com/pytorch/pytorch/pull/114471"
# title = "An out-of-bounds constant index is not refused"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "index 2 of 2 elements reads 2.0"
# ///
"""Eager checks the values of an index tensor. Here the index is computed inside the graph from a constant, and
Inductor generated no bounds check for it: the kernel reads beyond the tensor (a slice of a larger one, so
that the value read is known). Correct: an error that says that the index is out of bounds, from the compiler
or from the kernel.
Source: pytorch issue 111952.
"""

import torch


def pick(x: torch.Tensor) -> torch.Tensor:
    return x[torch.tensor([1]) + 1]


def test_constant_index_beyond_the_end(device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device)[:2]
    try:
        value = torch.compile(pick, backend=backend)(x).item()
    except Exception as error:
        assert "out of" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"index 2 of 2 elements reads {value}")


if __name__ == "__main__":
    test_constant_index_beyond_the_end("cpu", "inductor")
