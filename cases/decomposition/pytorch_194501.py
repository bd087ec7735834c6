# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194501"
# title = "smooth_l1_loss takes a negative beta"
# component = "decomposition"
# symptom = "missing-error"
# devices = ["cpu"]
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.15.0.dev20260821"
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the loss with beta \-1 is 1\.5, eager refuses it'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "refused for another reason:"
# blocked = true
# ///
"""Eager refuses a negative beta in its kernel's C++ entry. The decomposition, which replaces the operator in the
graph, does not look at it. Correct: eager's RuntimeError.
Source: pytorch issue 194501.
"""

import torch


def loss(x: torch.Tensor, y: torch.Tensor, beta: float) -> torch.Tensor:
    return torch.nn.functional.smooth_l1_loss(x, y, beta=beta)


def test_negative_beta(device: str, backend: str) -> None:
    compiled = torch.compile(loss, backend=backend, dynamic=False)
    x, y = torch.tensor([1.0], device=device), torch.tensor([0.0], device=device)
    compiled(x, y, 1.0)
    try:
        value = compiled(x, y, -1.0).item()
    except Exception as error:
        assert "negative values for beta" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"the loss with beta -1 is {value}, eager refuses it")


if __name__ == "__main__":
    test_negative_beta("cpu", "inductor")
