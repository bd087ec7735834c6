# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172073"
# fix = "https://github.com/pytorch/pytorch/pull/172181"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Adding a 0-dim complex tensor to itself fails"
# component = "decomposition"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["inductor"]
# labels = ["complex"]
# demands = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.11"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "self\\.dim\\(\\) cannot be 0 to view ComplexFloat as Float"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "must be real number, not complex"
# ///
"""Inductor decomposes the addition of complex tensors into one of their real views, made by view(dtype) with a last
dimension twice as long. A tensor without dimensions has no last one, and the view refuses it.
Correct: 5 + 0j. Source: pytorch issue 172073.
"""

import torch


def double(device: str) -> torch.Tensor:
    z = torch.tensor(2.5, dtype=torch.complex64, device=device)
    return z + z


def test_sum_without_dimensions(device: str, backend: str) -> None:
    actual = torch.compile(double, backend=backend)(device)
    torch.testing.assert_close(actual, double(device), rtol=0, atol=0)


if __name__ == "__main__":
    test_sum_without_dimensions("cpu", "inductor")
