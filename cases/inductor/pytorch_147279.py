# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147279"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The sum of a float16 arange does not compile on the C++ backend"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "no match for .operator\\+. \\(operand types are .\\S*VectorizedN<float, 2>. and .\\S*Vectorized<c10::Half>"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = "Absolute difference: 96\\.0"
# ///
"""arange is an index expression that the vectorised kernel evaluates as a vector of the dtype asked for, float16, while
the reduction accumulates in float32. Nothing converts between the two vector types, and g++ finds no operator for
them. Correct: it compiles and equals eager. Source: pytorch issue 147279.
"""

import torch


def total(device: str) -> torch.Tensor:
    return torch.arange(300, 400, dtype=torch.float16, device=device).sum(0)


def test_sum_of_arange(device: str, backend: str) -> None:
    torch.testing.assert_close(torch.compile(total, backend=backend)(device), total(device))


if __name__ == "__main__":
    test_sum_of_arange("cpu", "inductor")
