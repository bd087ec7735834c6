# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159787"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "Strict export leaves fake tensors in a list that forward appends to"
# component = "export"
# symptom = "wrong-result"
# devices = ["cpu"]
# compiles = false
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "1 fake tensor in the list after the export"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "AttributeError"
# match = "module 'torch' has no attribute 'export'"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "TypeError"
# match = "export\\(\\) got an unexpected keyword argument 'strict'"
# blocked = true
# ///
"""Dynamo replays side effects of the traced forward. Under export that is done while its fake tensors stand for the
real ones, and the list keeps them. Correct: the list is as before, or export refuses the program.
Source: pytorch issue 159787.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor

history: list[torch.Tensor] = []


class Remembering(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        history.append(x + 1)
        return x * 2


def test_no_fake_tensor_is_left() -> None:
    try:
        torch.export.export(Remembering(), (torch.ones(2),), strict=True)
    except RuntimeError:  # a refusal leaves nothing, either
        pass
    left = sum(isinstance(item, FakeTensor) for item in history)
    assert left == 0, f"{left} fake tensor in the list after the export"


if __name__ == "__main__":
    test_no_fake_tensor_is_left()
