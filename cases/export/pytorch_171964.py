# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/171964"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An unflattened module cannot be exported again with dynamic shapes"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.4"
# demands = ["dynamic-shapes"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = "mismatch between the structure of `inputs` and `dynamic_shapes`"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "ValueError"
# match = "Node type mismatch; expected <class 'tuple'>, but got <class 'dict'>"
# ///
"""forward of an unflattened module is defined with *args and **kwargs. Export binds the inputs to that signature, which
wraps them into one more tuple, while the dynamic shapes are as long as the call's arguments, and the two do not match.
Correct: it exports with the shapes that the original was exported with. Source: pytorch issue 171964.
"""

import torch
from torch.export import Dim


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def test_export_twice(device: str) -> None:
    model = Outer().to(device)
    shapes = ({0: Dim("batch", min=2, max=64)},)
    example = (torch.ones(3, 2, device=device),)
    first = torch.export.export(model, example, dynamic_shapes=shapes)
    second = torch.export.export(torch.export.unflatten(first), example, dynamic_shapes=shapes)
    x = torch.arange(10.0, device=device).reshape(5, 2)
    torch.testing.assert_close(second.module()(x), model(x))


if __name__ == "__main__":
    test_export_twice("cpu")
