# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/146359"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "iter() of a zip object passed as an argument is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["iterator"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_function BuiltinVariable\\(iter\\) \\[UserDefinedObjectVariable\\(zip\\)\\]"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'UserDefinedObjectVariable\(zip\)|`__iter__` of class `zip`|name=__iter__, type=zip'
# ///
"""Dynamo traces zip when the frame calls it. A zip object that arrives as an argument is an object of unknown
class to it, and its __iter__, a C slot, has no rule: a graph break, and an error with fullgraph=True.
Correct: it iterates, and the object is advanced as in eager.
Source: pytorch issue 146359.
"""

import torch


def add_first_pair(x: torch.Tensor, pairs: zip) -> torch.Tensor:
    left, right = next(iter(pairs))
    return x + left * 10 + right


def test_zip_argument(device: str, backend: str) -> None:
    x, pairs = torch.zeros(1, device=device), zip([1, 2], [3, 4])
    actual = torch.compile(add_first_pair, backend=backend, fullgraph=True)(x, pairs).item()
    assert actual == 13.0, f"the first pair adds {actual}"
    assert list(pairs) == [(2, 4)], "the zip object was not advanced by one"


if __name__ == "__main__":
    test_zip_argument("cpu", "eager")
