# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/112338"
# fix = "https://github.com/pytorch/pytorch/pull/110524"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Membership in a set of enum members is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "missing: BUILD_SET"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Sets with <class 'torch\\._dynamo\\.variables\\.constant\\.EnumVariable'> NYI"
# ///
"""A set of Dynamo took tensors and Python constants, and no members of an enumeration. Correct: one graph, and the branch that
eager takes.
Source: pytorch issue 112338.
"""

from enum import Enum

import torch


class Mode(Enum):
    FAST = "fast"
    EXACT = "exact"
    OFF = "off"


def scaled(x: torch.Tensor, mode: Mode) -> torch.Tensor:
    return x * 2 if mode in {Mode.FAST, Mode.EXACT} else x


def test_member_of_a_set(device: str, backend: str) -> None:
    value = torch.compile(scaled, backend=backend, fullgraph=True)(torch.ones(1, device=device), Mode.EXACT).item()
    assert value == 2.0, f"1 scaled by 2 is {value}"


if __name__ == "__main__":
    test_member_of_a_set("cpu", "eager")
