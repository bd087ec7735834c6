# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141305"
# title = "Non-strict export of a cond branch that closes over a symbolic size fails"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.3"
# compiles = false
# labels = ["control-flow"]
# demands = ["control-flow", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.9"
# outcome = "raise"
# error = "SyntaxError"
# match = "duplicate argument 'sym_size_int_1'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "SymInt"
# ///
"""Non-strict export runs the model with symbolic sizes, and torch.cond hands its branches to Dynamo from there.
A SymInt in the closure of a branch was a user-defined object to Dynamo; later it was lifted once for each
branch under the same name, which is no valid Python. Correct: the program exports and follows the size.
Source: pytorch issue 141305.
"""

import torch
from torch.export import Dim


class ShiftBySize(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        size = y.shape[0]
        return torch.cond(x.sum() > 0, lambda t: t + size, lambda t: t - size, (x,))


def test_size_in_the_closure_of_a_branch(device: str) -> None:
    model, x = ShiftBySize(), torch.ones(3, device=device)
    shapes = {"x": None, "y": {0: Dim("size", min=2, max=99)}}
    inputs = (x, torch.ones(5, device=device))
    try:
        program = torch.export.export(model, inputs, dynamic_shapes=shapes, strict=False)
    except torch._dynamo.exc.UncapturedHigherOrderOpError as error:
        raise error.__cause__ or error  # the cause says what about the branch was not captured
    torch.testing.assert_close(program.module()(x, torch.ones(7, device=device)), x + 7, rtol=0, atol=0)


if __name__ == "__main__":
    test_size_in_the_closure_of_a_branch("cpu")
