# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/169010"
# fix = "https://github.com/pytorch/pytorch/pull/169016"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A functools.partial cannot be a dictionary key in compiled code"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function partial in skip_files functools.py"
#
# [[tool.pt2bugs.bug]]
# torch = "==2.2.*"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "functools.partial\\(<function add"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'FunctoolsPartialVariable' object has no attribute 'value'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Observed exception[\\s\\S]*return x \\* factors\\[add_one\\]"
# ///
"""Dynamo wraps each key of a dictionary in a hashable stand-in that compares what the variables stand for. For a
functools.partial, which Python hashes by identity, the stand-in asks for a value the variable does not have,
or makes a new one on every look-up, so that the key is not found. Correct: the look-up finds the entry.
Source: pytorch issue 169010.
"""

import functools

import torch


def add(x: torch.Tensor, y: int) -> torch.Tensor:
    return x + y


def scale(x: torch.Tensor) -> torch.Tensor:
    add_one = functools.partial(add, y=1)
    factors = {add_one: 5}
    return x * factors[add_one]


def test_partial_as_a_key(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device)
    actual = torch.compile(scale, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, x * 5, rtol=0, atol=0)


if __name__ == "__main__":
    test_partial_as_a_key("cpu", "eager")
