# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/117556"
# fix = "https://github.com/pytorch/pytorch/pull/118678"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "callable() of an object of a user's class is a graph break"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "BuiltinVariable\\(callable\\) \\[UserDefinedObjectVariable\\("
# ///
"""Dynamo answered callable() for functions and modules only. For an object of a user's class the answer is in its type,
which is guarded on anyway, but the call breaks the graph, an error with fullgraph=True. Correct: True for the class
with __call__, False for the other. Source: pytorch issue 117556.
"""

import torch


class Callable:
    def __call__(self) -> int:
        return 1


class Plain:
    pass


def count(x: torch.Tensor, objects: list) -> torch.Tensor:
    return x + sum(1 for value in objects if callable(value))


def test_callable_of_user_objects(device: str, backend: str) -> None:
    x = torch.zeros(2, device=device)
    actual = torch.compile(count, backend=backend, fullgraph=True)(x, [Callable(), Plain()])
    torch.testing.assert_close(actual, x + 1, rtol=0, atol=0)


if __name__ == "__main__":
    test_callable_of_user_objects("cpu", "eager")
