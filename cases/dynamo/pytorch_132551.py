# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/132551"
# fix = "https://github.com/pytorch/pytorch/pull/132806"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A missing attribute of an object raises no AttributeError in the trace"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function BuiltinVariable\(mul\) \[TensorVariable\(\), GetAttrVariable\(UserDefinedObjectVar'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function BuiltinVariable\(mul\) \[TensorVariable\(\), GetAttrVariable\(\)\] \{\}'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "builtin: mul \\[<class 'torch\\._dynamo\\.variables\\.tensor\\.TensorVariable'>, <class 'torch\\._dyna"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <built-in function mul>\(\*\(FakeTensor\(\.\.\., size=\(\d+,\)\), None\),'
# blocked = true
# ///
"""Dynamo made a graph break of an attribute that is not there, also where the function catches the error. Correct: one graph, with
the branch of the except.
Source: pytorch issue 132551.
"""

import torch


class Settings:
    def __init__(self) -> None:
        self.scale = 1


SETTINGS = Settings()


def scaled(x: torch.Tensor) -> torch.Tensor:
    try:
        factor = SETTINGS.factor
    except AttributeError:
        factor = 3
    return x * factor


def test_except_branch(device: str, backend: str) -> None:
    value = torch.compile(scaled, backend=backend, fullgraph=True)(torch.ones(1, device=device)).item()
    assert value == 3.0, f"1 scaled by 3 is {value}"


if __name__ == "__main__":
    test_except_branch("cpu", "eager")
