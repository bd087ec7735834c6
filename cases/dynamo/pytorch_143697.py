# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143697"
# title = "A float in a dataclass of a module that changes between calls keeps an old value"
# component = "dynamo"
# symptom = "wrong-result"
# # More graphs since torch 2.4: the changed float is guarded, so that its values have graphs of their own.
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = '1 by 2, 4 and 8 is \[0\.5, 0\.5, 0\.5\]'
#
# [[tool.pt2bugs.bug]]
# # The guards of a module's attributes miss the change.
# torch = ">=2.9,<2.12"
# python = ">=3.13"
# outcome = "wrong"
# error = "AssertionError"
# match = '1 by 2, 4 and 8 is \[0\.5, 0\.5, 0\.5\]'
# ///
"""The float becomes a dynamic one after its first change, and the graph is used again without the new value, or
fails. Correct: each call computes with the value of its time.
Source: pytorch issue 143697, which saw the failure of the backend.
"""

import dataclasses

import torch


@dataclasses.dataclass
class Range:
    low: float = 0.0
    high: float = 1.0


class Normalize(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.range = Range()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.range.low) / (self.range.high - self.range.low)


def test_each_call_sees_the_float(device: str, backend: str) -> None:
    module, values = Normalize(), []
    compiled = torch.compile(module, backend=backend)
    for high in (2.0, 4.0, 8.0):
        module.range.high = high
        values.append(compiled(torch.ones(1, device=device)).item())
    assert values == [0.5, 0.25, 0.125], f"1 by 2, 4 and 8 is {values}"


if __name__ == "__main__":
    test_each_call_sees_the_float("cpu", "aot_eager")
