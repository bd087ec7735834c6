# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/178480"
# fix = "https://github.com/pytorch/pytorch/pull/179375"
# title = "celu_ takes an alpha of 0"
# component = "decomposition"
# symptom = "missing-error"
# devices = ["cpu"]
# upstream = "closed"
# upstream-seen = 2026-11-25
# reported-on = "2.10.0"
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = 'with alpha 0 celu_ of \-1 and 1 is \[\-0\.0, 1\.0\], eager refuses it'
# ///
"""Eager refuses alpha = 0, by which it would divide. The decomposition computes without the check. Correct: eager's
ZeroDivisionError.
Source: pytorch issue 178480.
"""

import torch


def activated(x: torch.Tensor, alpha: float) -> torch.Tensor:
    return torch.celu_(x, alpha)


def test_alpha_of_zero(device: str, backend: str) -> None:
    compiled = torch.compile(activated, backend=backend, dynamic=False)
    compiled(torch.ones(2, device=device), 1.0)
    try:
        values = compiled(torch.tensor([-1.0, 1.0], device=device), 0.0).tolist()
    except Exception as error:
        assert "alpha cannot be 0" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"with alpha 0 celu_ of -1 and 1 is {values}, eager refuses it")


if __name__ == "__main__":
    test_alpha_of_zero("cpu", "inductor")
