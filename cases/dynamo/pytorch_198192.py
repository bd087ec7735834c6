# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198192"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "An IndexError of a tensor operation is not caught by except IndexError"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.13"
# outcome = "raise"
# error = "IndexError"
# match = 'Dimension out of range \(expected to be in range of \[-1, 0\], but got 5\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Dimension out of range \(expected to be in range of \[-1, 0\], but got 5\)'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# ///
"""A RuntimeError from the run on fake tensors is handed to the function's own handlers in the newest releases; an
IndexError is still a hard error of Dynamo (in older releases every error was). Correct: the except clause runs.
Source: pytorch issue 198192.
"""

import torch


def sum_or_doubled(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.sum(dim=5)
    except IndexError:
        return x * 2


def test_except_clause_runs(device: str, backend: str) -> None:
    actual = torch.compile(sum_or_doubled, backend=backend)(torch.ones(2, device=device))
    assert actual.tolist() == [2.0, 2.0], f"result is {actual.tolist()}"


if __name__ == "__main__":
    test_except_clause_runs("cpu", "eager")
