# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/181097"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Export of a view into batch times five rows refuses the batch of one that it was told of"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# compiles = false
# requires-torch = ">=2.4"
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9"
# outcome = "raise"
# error = "AssertionError"
# match = 'Guard failed: x\.size\(\)\[\d+\] // \d+ != \d+'
# ///
"""The inner size of the view is 5 * batch / 5. The simplification of it against the other operand's batch asserts that
batch is not 1, though its range begins at 1. Correct: the program takes a batch of 1.
Source: pytorch issue 181097.
"""

import torch
from torch.export import Dim, export


class RowsLessY(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        rows = x.view(5, -1)
        return [rows[i] - y for i in range(5)]


def test_batch_of_one() -> None:
    batch, module = Dim("batch", min=1, max=8), RowsLessY()
    exported = export(
        module, (torch.ones(20), torch.ones(4)), dynamic_shapes={"x": {0: batch * 5}, "y": {0: batch}}
    ).module()
    for size in (2, 1):
        x, y = torch.arange(5.0 * size), torch.ones(size)
        torch.testing.assert_close(exported(x, y), module(x, y))


if __name__ == "__main__":
    test_batch_of_one()
