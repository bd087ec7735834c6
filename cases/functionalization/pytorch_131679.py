# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/131679"
# fix = "https://github.com/pytorch/pytorch/pull/142420"
# title = "A copy made by to(copy=True) cannot be changed in an exported program"
# component = "functionalization"
# symptom = "internal-error"
# devices = ["cpu"]
# compiles = false
# requires-torch = ">=2.1"
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.6"
# outcome = "raise"
# error = "RuntimeError"
# match = "cannot mutate tensors with frozen storage"
# ///
"""The result of Tensor.to may be the input itself, so its storage is frozen; with copy=True it never is. Correct: it exports,
and the copy is doubled.
Source: pytorch issue 131679, PR 142420.
"""

import torch


class DoubledHalf(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.to(torch.float16, copy=True)
        y.mul_(2)
        return y


def test_copy_is_doubled() -> None:
    x = torch.ones(3)
    exported = torch.export.export(DoubledHalf(), (x,))
    values = exported.module()(x).tolist()
    assert values == [2.0, 2.0, 2.0], f"1 doubled in a copy is {values}"


if __name__ == "__main__":
    test_copy_is_doubled()
