# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174166"
# title = "An absent attribute of a tensor is not caught by except AttributeError"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'Tensor' object has no attribute 'no_such_attribute'"
# ///
"""Dynamo looks up tensor attributes on the fake tensor, and the lookup of an absent one was an internal error
instead of an AttributeError of the traced function. Correct: the except clause runs. torch 2.0 compiled nothing here,
which is right. Source: pytorch issue 174166.
"""

import torch


def absent_or_doubled(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.no_such_attribute
    except AttributeError:
        return x * 2


def test_except_clause_runs(device: str, backend: str) -> None:
    actual = torch.compile(absent_or_doubled, backend=backend)(torch.ones(1, device=device)).item()
    assert actual == 2.0, f"result is {actual}"


if __name__ == "__main__":
    test_except_clause_runs("cpu", "eager")
