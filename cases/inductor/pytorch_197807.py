# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197807"
# title = "logcumsumexp of a 0-dim byte is taken where eager refuses the dtype"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# upstream = "open"
# upstream-seen = 2026-11-24
# demands = []
# # More graphs since torch 2.1: torch 2.0 refuses the tensor for another reason, before the second function is compiled.
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "logcumsumexp of the byte 7 is 7, eager refuses the dtype"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "refused for another reason:"
# blocked = true
# ///
"""Inductor returns a tensor without dimensions as it is, since there is nothing to accumulate, and comes to no check
of the dtype. Correct: eager's refusal.
Source: pytorch issue 197807.
"""

import torch


def accumulated(x: torch.Tensor) -> torch.Tensor:
    return torch.logcumsumexp(x, dim=0)


def test_byte_without_dimensions(device: str, backend: str) -> None:
    compiled = torch.compile(accumulated, backend=backend)
    compiled(torch.tensor(1.0, device=device))
    try:
        value = compiled(torch.tensor(7, dtype=torch.uint8, device=device)).item()
    except Exception as error:
        assert "not implemented for" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"logcumsumexp of the byte 7 is {value}, eager refuses the dtype")


if __name__ == "__main__":
    test_byte_without_dimensions("cpu", "inductor")
