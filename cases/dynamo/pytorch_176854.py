# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/176854"
# fix = "https://github.com/pytorch/pytorch/pull/177875"
# title = "detach_() in a compiled function leaves requires_grad set"
# component = "dynamo"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'requires_grad of the result and of the detached tensor are \(False, True\)'
# ///
"""Dynamo keeps what it knows of a tensor from its making, and the in-place detach does not change that. Correct: the tensor needs
no gradient any more.
Source: pytorch issue 176854.
"""

import torch


def detached(x: torch.Tensor) -> tuple[torch.Tensor, bool]:
    y = x * 2
    y.detach_()
    return y + 1, y.requires_grad


def test_detached_needs_no_gradient(device: str, backend: str) -> None:
    x = torch.ones(2, device=device, requires_grad=True)
    out, needs = torch.compile(detached, backend=backend)(x)
    found = (out.requires_grad, needs)
    assert found == (False, False), f"requires_grad of the result and of the detached tensor are {found}"


if __name__ == "__main__":
    test_detached_needs_no_gradient("cpu", "eager")
