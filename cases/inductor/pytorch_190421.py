# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/190421"
# fix = "https://github.com/pytorch/pytorch/pull/190427"
# title = "An infinite constant is converted to an integer while indices are propagated"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# upstream = "closed"
# upstream-seen = 2026-11-25
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "cannot convert float infinity to integer"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.14"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "cannot convert float infinity to integer"
# ///
"""Constants are propagated as numbers of Python. The conversion of -inf to int32, which the sum asks for, is an int()
that raises OverflowError. Correct: the smallest int32, as eager.
Source: pytorch issue 190421.
"""

import torch


def total() -> torch.Tensor:
    return torch.sum(torch.log(torch.full((1,), 0.0)), dtype=torch.int32)


def test_conversion_of_infinity(backend: str) -> None:
    value = torch.compile(total, backend=backend)().item()
    assert value == -(2**31), f"-inf as an int32 is {value}"


if __name__ == "__main__":
    test_conversion_of_infinity("inductor")
