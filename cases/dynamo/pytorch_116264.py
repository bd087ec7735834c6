# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/116264"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Instances of a dataclass made while tracing cannot be compared"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'Point' object has no attribute 'value'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'comparison UserDefinedObjectVariable\(Point\)'
# ///
"""The generated __init__ and __eq__ of a dataclass are functions made by exec, and Dynamo did not trace them: the
instance lost its fields. Correct: instances are compared field by field, and the branch is eager's. Source:
pytorch issue 116264.
"""

import dataclasses

import torch


@dataclasses.dataclass
class Point:
    value: int


def step(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if Point(2) == Point(3) else x - 1


def test_unequal_instances(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    actual = torch.compile(step, backend=backend, fullgraph=True)(x).item()
    assert actual == -1.0, f"unequal instances took the branch of equal ones: {actual}"


if __name__ == "__main__":
    test_unequal_instances("cpu", "eager")
