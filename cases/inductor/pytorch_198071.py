# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198071"
# title = "clamp wraps a bound that an integer dtype cannot hold"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'clamped at 1000 the values \-128, 0 and 127 are \[\-24, \-24, \-24\]'
# ///
"""Inductor converts the bounds to int8 before it compares, and 1000 becomes -24. Correct: the values as they are, or
eager's refusal of a bound that overflows.
Source: pytorch issue 198071.
"""

import torch


def bounded(x: torch.Tensor, bound: int) -> torch.Tensor:
    return torch.clamp(x, -bound, bound)


def test_bound_beyond_int8(device: str, backend: str) -> None:
    compiled = torch.compile(bounded, backend=backend, dynamic=False)
    x = torch.tensor([-128, 0, 127], dtype=torch.int8, device=device)
    torch.testing.assert_close(compiled(x, 100), bounded(x, 100), rtol=0, atol=0)
    try:
        values = compiled(x, 1000).tolist()
    except Exception as error:
        assert "overflow" in str(error), f"refused for another reason: {error}"
    else:
        assert values == [-128, 0, 127], f"clamped at 1000 the values -128, 0 and 127 are {values}"


if __name__ == "__main__":
    test_bound_beyond_int8("cpu", "inductor")
