# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130301"
# fix = "https://github.com/pytorch/pytorch/pull/130506"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "str() of an object whose class defines __str__"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "BuiltinVariable\\(str\\) \\[UserDefinedObjectVariable|builtin: str \\[.*UserDefinedObjectVariable"
# ///
"""Dynamo folds str() of constants and of some variables it knows; for a user-defined object it did not look for the
__str__ of the class, which is plain Python that can be inlined. Correct: no graph break.
fullgraph=True, since the bug is the break. Source: pytorch issue 130301.
"""

import torch


class Named:
    def __str__(self) -> str:
        return "four"


def add_length(x: torch.Tensor) -> torch.Tensor:
    return x + len(str(Named()))


def test_str_of_an_object(device: str, backend: str) -> None:
    actual = torch.compile(add_length, backend=backend, fullgraph=True)(torch.zeros(2, device=device)).tolist()
    assert actual == [4.0, 4.0], f"length of str(): {actual}"


if __name__ == "__main__":
    test_str_of_an_object("cpu", "eager")
