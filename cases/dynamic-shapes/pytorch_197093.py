# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197093"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "An f-string with a format spec on a symbolic size"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "Unknown format code 'd' for object of type 'str'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/builtin\.py:\d+ call_function\n[^\n]+\n[^\n]+ FORMAT_VALUE'
# ///
"""Dynamo turns the parts of an f-string into strings and joins them with format(). A symbolic size becomes
the placeholder string of its value first, and the format spec, which is for a number, is then applied
to a string. Correct: the size, formatted. Source: pytorch issue 197093.
"""

import torch


def name_of_size(x: torch.Tensor) -> tuple[str, torch.Tensor]:
    return f"{x.shape[0]:d}", x + 1


def test_format_spec(device: str, backend: str) -> None:
    text, _ = torch.compile(name_of_size, backend=backend, dynamic=True)(torch.ones(3, device=device))
    assert text == "3", f"size 3 is formatted as {text!r}"


if __name__ == "__main__":
    test_format_spec("cpu", "eager")
