# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148475"
# fix = "https://github.com/pytorch/pytorch/pull/185776"
# title = "An error that a tensor operation raises cannot be caught in compiled code"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "expand: the requested shape has too few dimensions"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# ///
"""Dynamo runs each operation on fake tensors, where the wrong shape raises the same RuntimeError as in eager. It
turns the error into a TorchRuntimeError of its own, which the function's except clause never sees. Correct: the
except clause runs. Source: pytorch issue 148475.
"""

import torch


def expanded_or_doubled(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.expand_as(torch.zeros(2))
    except RuntimeError:
        return x * 2


def test_except_clause_runs(device: str, backend: str) -> None:
    x = torch.ones(2, 3, device=device)
    actual = torch.compile(expanded_or_doubled, backend=backend)(x)
    assert actual.tolist() == [[2.0] * 3] * 2, f"result is {actual.tolist()}"


if __name__ == "__main__":
    test_except_clause_runs("cpu", "eager")
