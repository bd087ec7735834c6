# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/176599"
# fix = "https://github.com/pytorch/pytorch/pull/176624"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Setter and getter of a property are bypassed on an object made while tracing"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "property gives 5\\.0, not 11\\.0"
# ///
"""A store to an attribute of an object made while tracing is recorded as a side effect under the attribute's name,
without looking for a data descriptor on the class. The setter never runs, and the next read finds the recorded
value before it finds the getter. Correct: the setter stores 2 * 5 and the getter adds 1.
Source: pytorch issue 176599, PR 176624.
"""

import torch


class Dial:
    def __init__(self) -> None:
        self._position = 0

    @property
    def position(self) -> int:
        return self._position + 1

    @position.setter
    def position(self, value: int) -> None:
        self._position = value * 2


def turn(x: torch.Tensor) -> torch.Tensor:
    dial = Dial()
    dial.position = 5
    return x + dial.position


def test_property_of_a_new_object(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    actual = torch.compile(turn, backend=backend)(x).item()
    expected = turn(x).item()
    assert actual == expected, f"property gives {actual}, not {expected}"


if __name__ == "__main__":
    test_property_of_a_new_object("cpu", "eager")
