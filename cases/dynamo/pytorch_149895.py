# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/149895"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A class with __getattribute__ cannot be made in a compiled function"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Unsupported function call[\s\S]*Watched'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function UserDefinedClassVariable\\(<class 'pt\\d+bugs_case_pytorch_\\d+\\.Watched'>\\) \\[Con"
# ///
"""Dynamo makes no object whose attribute lookup is the user's. Correct: one graph, and the object's
attribute.
Source: pytorch issue 149895.
"""

import torch


class Watched:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __getattribute__(self, name: str) -> object:
        return super().__getattribute__(name)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * Watched(3).factor


def test_attribute_of_a_new_object(device: str, backend: str) -> None:
    value = torch.compile(scaled, backend=backend, fullgraph=True)(torch.ones(1, device=device)).item()
    assert value == 3.0, f"1 scaled by 3 is {value}"


if __name__ == "__main__":
    test_attribute_of_a_new_object("cpu", "eager")
