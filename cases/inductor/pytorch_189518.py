# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/189518"
# fix = "https://github.com/pytorch/pytorch/pull/190328"
# title = "cumsum(dtype=...) of a constant tensor loses the requested dtype"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = 'cumsum\(dtype=torch\.bfloat16\) has dtype torch\.int64'
# ///
"""A post-grad pass of Inductor replaces the cumulative sum of a tensor filled with one value by an arange. It
takes the result's dtype from the filled tensor (int64 for bool) and ignores cumsum's own dtype argument.
Correct: bfloat16, as asked for, with eager's values.
Source: pytorch issue 189518.
"""

import torch


def positions(x: torch.Tensor) -> torch.Tensor:
    return torch.ones((3, 5), dtype=torch.bool, device=x.device).cumsum(1, dtype=torch.bfloat16)


def test_dtype_of_a_constant_cumsum(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    actual = torch.compile(positions, backend=backend)(x)
    assert actual.dtype == torch.bfloat16, f"cumsum(dtype=torch.bfloat16) has dtype {actual.dtype}"
    torch.testing.assert_close(actual, positions(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_dtype_of_a_constant_cumsum("cpu", "inductor")
