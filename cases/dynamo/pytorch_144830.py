# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144830"
# upstream = "closed"
# upstream-seen = 2026-11-25
# # The thread was closed by pull request 144956, which ended the internal error and left the result wrong.
# reported-on = "2.5.1"
# title = "format(int, spec) is taken for str.format in compiled code"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function BuiltinVariable\\(format\\)"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'int' object has no attribute 'format'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "^len\\(format\\(10, 'b'\\)\\) is 2.0"
# ///
"""Dynamo traces the builtin format(value, spec) as value.format(spec), the method of a format string: for an int
that was an internal error about a missing attribute. Since PR 144956 the spec has no effect instead, and the
result is "10". Correct: format(10, "b") is "1010".
Source: pytorch issue 144830, PR 144956.
"""

import torch


def add_length(x: torch.Tensor, number: int) -> torch.Tensor:
    return x + len(format(number, "b"))


def test_format_an_int_as_binary(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    length = torch.compile(add_length, backend=backend, fullgraph=True)(x, 10).item()
    assert length == 4.0, f"len(format(10, 'b')) is {length}"


if __name__ == "__main__":
    test_format_an_int_as_binary("cpu", "eager")
