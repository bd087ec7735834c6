# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/134451"
# title = "A class property of an IntEnum cannot be traced"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "AssertionError"
# match = 'expected FunctionType found property <property object at \d+x\.\.\.>'
#
# [[tool.pt2bugs.bug]]
# blocked = true
# python = ">=3.13"
# outcome = "raise"
# error = "IndexError"
# match = 'only integers, slices \(`:`\), ellipsis \(`\.\.\.`\), None and long or byte Variables are valid i'
# ///
"""A property on the metaclass's level (classmethod over property) of an Enum is evaluated as a plain method, which fails
inside Dynamo. Correct: eager's values. Python 3.13 has no classmethod over property, and the check says so.
Source: pytorch issue 134451.
"""

from enum import IntEnum

import torch


class Column(IntEnum):
    FIRST_ = 0
    SECOND_ = 1

    @classmethod
    @property
    def FIRST(cls) -> int:
        return cls.FIRST_

    @classmethod
    @property
    def BOTH(cls) -> slice:
        return slice(cls.FIRST_, cls.SECOND_ + 1)


def picked(x: torch.Tensor) -> torch.Tensor:
    return x[..., Column.FIRST] + x[..., Column.BOTH].sum(-1)


def test_properties_of_the_class(device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    torch.testing.assert_close(torch.compile(picked, backend=backend)(x), picked(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_properties_of_the_class("cpu", "eager")
