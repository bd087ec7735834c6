# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/108898"
# fix = "https://github.com/pytorch/pytorch/pull/123423"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A global function that is replaced is not called where the caller makes a closure"
# component = "dynamo"
# symptom = "wrong-result"
# # More graphs since torch 2.4: the guard on the global is back, and the function is compiled again.
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = 'sum after the replacement is 1\.0'
# ///
"""The guard on the global name was lost where the function also defines one of its own. The second call runs the
graph with the old function. Correct: the function that the name stands for at the call. Source: pytorch issue
108898.
"""

import torch


def shift(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def shift_more(x: torch.Tensor) -> torch.Tensor:
    return x + 10


def total(x: torch.Tensor) -> torch.Tensor:
    x = shift(x)

    def same(y: torch.Tensor) -> torch.Tensor:
        return y * 1

    return same(x)


def test_replaced_global_is_called(device: str, backend: str) -> None:
    global shift
    compiled, before, x = torch.compile(total, backend=backend), shift, torch.zeros(1, device=device)
    compiled(x)
    shift = shift_more
    try:
        actual = compiled(x).item()
    finally:
        shift = before
    assert actual == 10.0, f"sum after the replacement is {actual}"


if __name__ == "__main__":
    test_replaced_global_is_called("cpu", "eager")
