# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/188225"
# fix = "https://github.com/pytorch/pytorch/pull/190427"
# same-fix = "pytorch_190421"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A NaN among constants cannot be compared"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "The argument 'nan' is not comparable\\."
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.14"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "The argument 'nan' is not comparable\\."
# ///
"""Everything in the function is constant, so Inductor propagates the numbers as sympy expressions. arccosh of 0 is
NaN, and softmax asks for the maximum of NaN and another number, which sympy refuses to order. Correct: NaN.
Source: pytorch issue 188225.
"""

import torch


def undefined() -> torch.Tensor:
    ones = torch.ones(2, 2)
    return torch.softmax(torch.arccosh(torch.log2(torch.atan2(ones, ones))), 1)


def test_maximum_of_nan(backend: str) -> None:
    defined = int((~torch.compile(undefined, backend=backend)().isnan()).sum())
    assert defined == 0, f"{defined} of 4 results are not NaN"


if __name__ == "__main__":
    test_maximum_of_nan("inductor")
