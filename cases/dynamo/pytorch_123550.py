# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/123550"
# fix = "https://github.com/pytorch/pytorch/pull/133123"
# upstream = "open"
# upstream-seen = 2026-11-25
# reported-on = "2.2.2"
# title = "An IntEnum member as an index beside a slice makes an invalid graph"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^\\s*$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/fx/graph_module\.py:\d+ _exec_with_source'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'invalid syntax \(<eval_with_key>\.\d+, line 6\)'
# ///
"""An enum member inside the index tuple reaches the graph as the argument it is, and the generated Python prints
its repr, <Column.SECOND: 1>, which does not parse. A single member as index is converted. Correct: the member
counts as its int value.
Source: pytorch issue 123550.
"""

import enum

import torch


class Column(enum.IntEnum):
    FIRST = 0
    SECOND = 1


def second_column(x: torch.Tensor) -> torch.Tensor:
    return x[:, Column.SECOND]


def test_enum_member_beside_a_slice(device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    actual = torch.compile(second_column, backend=backend)(x)
    torch.testing.assert_close(actual, second_column(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_enum_member_beside_a_slice("cpu", "eager")
