# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/161902"
# title = "Derived dimensions that contradict each other end in an AttributeError"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# compiles = false
# requires-torch = ">=2.3"
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'One' object has no attribute 'name'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.10"
# outcome = "raise"
# error = "AttributeError"
# match = "'One' object has no attribute 'name'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "AssertionError"
# match = 'Cannot create Dim with inconsistent min=\d+, max=\d+'
# blocked = true
# ///
"""2 * d and d + 1 are to be one size, which fixes d at 1. The text of the suggested fix takes the solution for a
symbol and asks the number for its name. Correct: an error that names the violated constraints.
Source: pytorch issue 161902.
"""

import torch
from torch.export import Dim


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def test_conflict_is_explained() -> None:
    d = Dim("d", min=1, max=2)
    shapes = {"x": (2 * d, None), "y": (d + 1, None)}
    try:
        torch.export.export(Sum(), (torch.ones(2, 3), torch.ones(2, 3)), dynamic_shapes=shapes)
    except torch._dynamo.exc.UserError as error:
        assert "onstraint" in str(error), f"the refusal names no constraint: {error}"


if __name__ == "__main__":
    test_conflict_is_explained()
