# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143568"
# fix = "https://github.com/pytorch/pytorch/pull/143848"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "max of a bool mask along a dimension does not compile"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'no matching function for call to .argmax_combine_vec<bool'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "The values for attribute 'dtype' do not match: torch\\.int64 != torch\\.bool\\."
# blocked = true
# ///
"""The reduction with an index is vectorized since 2.6. The value of a mask has a type of its own in that code, which
has no conversion to the vector of the reduction. Correct: eager's values and indices.
Source: pytorch issue 143568.
"""

import torch


def first_true(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return tuple(torch.max(x.ge(0), 1))


def test_value_and_index(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 4 * 37, device=device).reshape(4, 37)
    actual = torch.compile(first_true, backend=backend)(x)
    torch.testing.assert_close(actual, first_true(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_value_and_index("cpu", "inductor")
