# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/115790"
# fix = "https://github.com/pytorch/pytorch/pull/138978"
# title = "unflatten of a program whose submodule uses torch.cond"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# compiles = false
# requires-torch = ">=2.3"
# labels = ["control-flow"]
# demands = ["control-flow"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "AttributeError"
# match = "'InterpreterModule' object has no attribute 'true_graph_\\d+'"
# ///
"""The graphs of the branches are attributes of the exported program. unflatten made the submodule without them. Correct: the
unflattened module takes either branch.
Source: pytorch issue 115790.
"""

import torch


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: self.linear(t).cos(), lambda t: self.linear(t).sin(), (x,))


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Branches()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


def test_both_branches() -> None:
    module, x = Outer(), torch.ones(1, 2)
    unflattened = torch.export.unflatten(torch.export.export(module, (x,)))
    for value in (x, -x):
        torch.testing.assert_close(unflattened(value), module(value))


if __name__ == "__main__":
    test_both_branches()
