# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107187"
# fix = "https://github.com/pytorch/pytorch/pull/109109"
# title = "torch.manual_seed inside a compiled function does nothing"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "two calls with one seed give different numbers"
# ///
"""Dynamo put the call into the graph, where it ran once while the graph was traced on fake tensors and left
nothing behind. Correct: the generator is seeded at each call, so each call gives the same numbers. Source: pytorch
issue 107187.
"""

import torch


def drawn() -> torch.Tensor:
    torch.manual_seed(3)
    return torch.rand(4)


def test_each_call_is_seeded(backend: str) -> None:
    compiled = torch.compile(drawn, backend=backend)
    first, second = compiled(), compiled()
    same = "equal" if torch.equal(first, second) else "different"
    assert same == "equal", f"two calls with one seed give {same} numbers"


if __name__ == "__main__":
    test_each_call_is_seeded("aot_eager")
