# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172666"
# fix = "https://github.com/pytorch/pytorch/pull/172667"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An argument of a tuple subclass does not equal a global of equal content"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.11"
# outcome = "wrong"
# error = "AssertionError"
# match = 'equal keys took the branch of unequal ones: -1\.0'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_method UserDefinedObjectVariable\(Key\)'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'comparison UserDefinedObjectVariable\(Key\)'
# ///
"""Dynamo modelled an instance of a tuple subclass as an object of a user-defined class, whose == compares
identity, and forgot that tuple.__eq__ is inherited. The branch is then taken the wrong way. Older releases stop at
the comparison. Correct: contents are compared. Source: pytorch issue 172666.
"""

import torch


class Key(tuple):
    pass


TARGET = Key((1, -1))


def step(x: torch.Tensor, key: Key) -> torch.Tensor:
    return x + 1 if key == TARGET else x - 1


def test_equal_content(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    actual = torch.compile(step, backend=backend, fullgraph=True)(x, Key((1, -1))).item()
    assert actual == 1.0, f"equal keys took the branch of unequal ones: {actual}"


if __name__ == "__main__":
    test_equal_content("cpu", "eager")
