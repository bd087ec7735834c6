# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/127172"
# fix = "https://github.com/pytorch/pytorch/pull/127372"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "getattr with a default on the type of a Python int"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "call_hasattr\\(\\) missing 1 required positional argument"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/builtin\.py:\d+ call_hasattr'
# ///
"""Dynamo asks whether the object has the attribute before it takes the default. For a built-in type the object is a
BuiltinVariable, where the helper of that name has another meaning and another signature, so the question itself fails.
Correct: the default is taken. Source: pytorch issue 127172.
"""

import torch


def add_step(x: torch.Tensor, source: int) -> torch.Tensor:
    return x + getattr(type(source), "step", 2)


def test_default_is_taken(device: str, backend: str) -> None:
    actual = torch.compile(add_step, backend=backend)(torch.zeros(2, device=device), 5).tolist()
    assert actual == [2.0, 2.0], f"added {actual}"


if __name__ == "__main__":
    test_default_is_taken("cpu", "eager")
