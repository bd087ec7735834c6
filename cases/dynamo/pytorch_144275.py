# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144275"
# fix = "https://github.com/pytorch/pytorch/pull/166599"
# title = "isinstance with a union type fails in Dynamo"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Unexpected type in sourceless builder <class 'types\\.UnionType'>"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Unexpected type in sourceless builder types\.UnionType'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Unexpected type in sourceless builder"
# ///
"""Python 3.10 made `int | float` an object of types.UnionType, which Dynamo's isinstance did not take apart. Correct: the
branch that eager takes.
Source: pytorch issue 144275.
"""

import torch


def added(x: torch.Tensor, number: object) -> torch.Tensor:
    return x + number if isinstance(number, int | float) else x


def test_union_type(device: str, backend: str) -> None:
    x = torch.ones(2, device=device)
    actual = torch.compile(added, backend=backend, fullgraph=True)(x, 2)
    torch.testing.assert_close(actual, x + 2, rtol=0, atol=0)


if __name__ == "__main__":
    test_union_type("cpu", "eager")
