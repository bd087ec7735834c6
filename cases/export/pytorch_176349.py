# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/176349"
# upstream = "closed"
# upstream-seen = 2026-11-26
# reported-on = "2.12.0.dev20260222"
# title = "An example input at the declared minimum of its dimension cannot be exported"
# component = "export"
# symptom = "internal-error"
# kind = "limitation"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'in the specified range rows <= 8 are valid because rows was inferred to be a constant \(1\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'You marked rows as dynamic but your code specialized it to be a constant \(1\)'
# ///
"""A dimension is declared to be 1 to 8. Where the example has size 1 there, tracing takes the size for the constant 1 before it looks
at the declaration, and export refuses what it made itself. Correct: a program for all sizes from 1 to 8.
Source: pytorch issue 176349; PR 184837 keeps such a size symbolic, and no release has it.
"""

import torch
from torch.export import Dim


class Scale(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2


def test_example_at_the_minimum(device: str) -> None:
    module, dim = Scale(), Dim("rows", min=1, max=8)
    program = torch.export.export(module, (torch.randn(1, 3, device=device),), dynamic_shapes={"x": {0: dim}})
    for rows in (1, 2, 8):
        x = torch.randn(rows, 3, device=device)
        torch.testing.assert_close(program.module()(x), module(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_example_at_the_minimum("cpu")
