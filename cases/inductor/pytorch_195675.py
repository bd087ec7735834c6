# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195675"
# title = "clamp ignores a bound that its dtype cannot hold"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'clamped at 3\.4e39 the values are \[\-2\.0, 0\.5, 2\.0\], eager refuses the bound'
# ///
"""Eager converts the bounds to float32 and refuses one that overflows. Inductor writes the number into the kernel.
The report allows for either to be wrong; the proposed fix follows eager. Correct: eager's refusal.
Source: pytorch issue 195675.
"""

import torch


def bounded(x: torch.Tensor, bound: float) -> torch.Tensor:
    return torch.clamp(x, min=-bound, max=bound)


def test_bound_beyond_float32(device: str, backend: str) -> None:
    compiled = torch.compile(bounded, backend=backend, dynamic=False)
    x = torch.tensor([-2.0, 0.5, 2.0], device=device)
    torch.testing.assert_close(compiled(x, 1.0), bounded(x, 1.0), rtol=0, atol=0)
    try:
        values = compiled(x, 3.4e39).tolist()
    except Exception as error:
        assert "overflow" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"clamped at 3.4e39 the values are {values}, eager refuses the bound")


if __name__ == "__main__":
    test_bound_beyond_float32("cpu", "inductor")
