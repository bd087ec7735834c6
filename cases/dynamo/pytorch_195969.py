# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195969"
# fix = "https://github.com/pytorch/pytorch/pull/196124"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "isinstance with a union of data protocols is False in compiled code"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "matches neither protocol: -1.0"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.11"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "UserDefinedObjectVariable\\(UnionType\\) is not a constant"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/base\.py:\d+ as_python_constant\n\S+builtin\.py:\d+ call_isinstance'
# ///
"""A runtime-checkable Protocol with data members supports isinstance, but issubclass raises TypeError for it.
Dynamo answers isinstance(object, A | B) by issubclass on the object's type, takes the TypeError for a "no",
and bakes False into the graph. Correct: True for an object that has the data member.
Source: pytorch issue 195969.
"""

from typing import Protocol, runtime_checkable

import torch


@runtime_checkable
class HasScale(Protocol):
    scale: int


@runtime_checkable
class HasShift(Protocol):
    shift: int


class Settings:
    def __init__(self) -> None:
        self.scale = 2


EITHER = HasScale | HasShift


def choose(x: torch.Tensor, settings: Settings) -> torch.Tensor:
    y = x * 2
    return y + 1 if isinstance(settings, EITHER) else y - 1


def test_isinstance_of_a_union_of_protocols(device: str, backend: str) -> None:
    actual = torch.compile(choose, backend=backend)(torch.zeros(1, device=device), Settings()).item()
    assert actual == 1.0, f"an object with the data member matches neither protocol: {actual}"


if __name__ == "__main__":
    test_isinstance_of_a_union_of_protocols("cpu", "eager")
