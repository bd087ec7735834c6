# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/134133"
# fix = "https://github.com/pytorch/pytorch/pull/134880"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Floor division of a sum of many symbolic integers does not end"
# component = "export"
# symptom = "hang"
# devices = ["cpu"]
# timeout = 40
# requires-torch = ">=2.4"
# compiles = false
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "timeout"
# frame = 'sym_node\.py:\d+ _sympy_floordiv'
# ///
"""To divide a sum of a hundred unbacked integers by five the symbolic floor division asks for the greatest common divisor
of the two, and sympy factors polynomials in a hundred variables for it. Correct: the export ends, and its program
divides.
Source: pytorch issue 134133.
"""

import torch


class Fifth(torch.nn.Module):
    def forward(self, values: list[torch.Tensor]) -> int:
        return sum(value.item() for value in values) // 5


def test_export_ends() -> None:
    values = [torch.tensor(number) for number in range(3, 103)]
    result = torch.export.export(Fifth(), (values,), strict=False).module()(values)
    assert int(result) == 1050, f"5250 // 5 is {int(result)}"


if __name__ == "__main__":
    test_export_ends()
