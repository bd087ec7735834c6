# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144241"
# fix = "https://github.com/pytorch/pytorch/pull/144313"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "avg_pool1d of bytes is computed where eager refuses the dtype"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the averages of bytes are \[0, 0\], eager refuses the dtype'
# ///
"""Eager has no average pooling for uint8. Inductor lowers the operator for any dtype and asks nobody whether the
dtype is one of eager's. Correct: eager's refusal.
Source: pytorch issue 144241.
"""

import torch


def pooled(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.avg_pool1d(x, 2)


def test_bytes_are_refused(device: str, backend: str) -> None:
    compiled = torch.compile(pooled, backend=backend)
    compiled(torch.ones(1, 1, 4, device=device))
    try:
        values = compiled(torch.tensor([[[1, 3, 5, 7]]], dtype=torch.uint8, device=device)).flatten().tolist()
    except Exception as error:
        assert "not implemented for" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"the averages of bytes are {values}, eager refuses the dtype")


if __name__ == "__main__":
    test_bytes_are_refused("cpu", "inductor")
