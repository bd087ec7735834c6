# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/146315"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Export with named dims and a step-2 slice demands a guard against 2**63 - 1"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.6"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = "!= 9223372036854775807"
# ///
"""Slicing to the end passes sys.maxsize as the end, and tracing the slice compares it with the symbolic size:
a guard "size != 9223372036854775807" that the declared range of a named dimension does not imply, so
export refuses the model. Correct: export succeeds (the slice's dimension is left to Dim.AUTO, so nothing
declared is violated) and the program equals eager on other sizes. Source: issue 146315.
"""

import torch
from torch.export import Dim


class AddEverySecond(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return torch.cat((a, b), 1) + c[:, ::2]


def make_inputs(device: str, rows: int, left: int, right: int) -> tuple[torch.Tensor, ...]:
    widths = (left, right, 2 * (left + right))
    return tuple(torch.arange(float(rows * n), device=device).reshape(rows, n) for n in widths)


def test_named_dims_and_stepped_slice(device: str) -> None:
    model = AddEverySecond()
    rows, left, right = Dim("rows"), Dim("left"), Dim("right")
    shapes = {"a": {0: rows, 1: left}, "b": {0: rows, 1: right}, "c": {0: rows, 1: Dim.AUTO}}
    program = torch.export.export(model, make_inputs(device, 2, 3, 5), dynamic_shapes=shapes)
    other = make_inputs(device, 4, 6, 7)
    torch.testing.assert_close(program.module()(*other), model(*other), rtol=0, atol=0)


if __name__ == "__main__":
    test_named_dims_and_stepped_slice("cpu")
