# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130394"
# fix = "https://github.com/pytorch/pytorch/pull/130956"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A tensor from empty_strided that is filled in place loses its strides"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(8, 1\\), not \\(16, 1\\)"
# ///
"""Functionalization turns the in-place fill of a fresh empty_strided into a new value, and Inductor gives that
value the layout it likes, contiguous, although the output's strides are part of the result. Correct: the
strides that the program asked empty_strided for, as in eager.
Source: pytorch issue 130394.
"""

import torch


def doubled(x: torch.Tensor) -> torch.Tensor:
    result = torch.empty_strided(x.size(), x.stride(), device=x.device)
    result[:] = x + x
    return result


def test_strides_of_a_filled_tensor(device: str, backend: str) -> None:
    x = torch.arange(256.0, device=device).reshape(16, 16)[:, :8]
    actual = torch.compile(doubled, backend=backend)(x)
    torch.testing.assert_close(actual, x + x, rtol=0, atol=0)
    assert actual.stride() == (16, 1), f"strides {actual.stride()}, not (16, 1)"


if __name__ == "__main__":
    test_strides_of_a_filled_tensor("cpu", "inductor")
