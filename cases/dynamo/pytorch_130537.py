# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130537"
# fix = "https://github.com/pytorch/pytorch/pull/131405"
# title = "A list comprehension that reads a local variable called `source` hits an assertion"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.5"
# outcome = "raise"
# error = "AssertionError"
# match = "^\\s*from user code:|^$"
# frame = "variables/functions.py:\\d+ bind_args"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function BuiltinVariable\\(dict\\) \\[TupleVariable\\(\\)\\] \\{\\}"
# ///
"""Up to Python 3.11 a list comprehension is a function of its own, which reaches the local dict through a closure cell.
When Dynamo inlines it, an assertion compares the cell's name by getattr(cell, name, name), where cell is Dynamo's own
object: for a variable called `source` it finds that object's attribute `source` instead, and fails. Correct: the
values in the order of the other list. Source: pytorch issue 130537.
"""

import torch


def pick(keys: list[str], values: list[torch.Tensor], order: list[str]) -> list[torch.Tensor]:
    source = dict(zip(keys, values))
    return [source[key] for key in order]


def difference(x: torch.Tensor) -> torch.Tensor:
    second, first = pick(["b", "a"], [x + 1, x + 3], ["a", "b"])
    return second - first


def test_variable_called_source(device: str, backend: str) -> None:
    x = torch.zeros(2, device=device)
    actual = torch.compile(difference, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, x + 2, rtol=0, atol=0)


if __name__ == "__main__":
    test_variable_called_source("cpu", "eager")
