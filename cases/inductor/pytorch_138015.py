# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138015"
# fix = "https://github.com/pytorch/pytorch/pull/136041"
# title = "randn in bfloat16 gives float32 where bfloat16 is the default dtype"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = 'randn was asked for bfloat16 and gave torch\.float32'
# ///
"""Inductor replaces randn by its own prim, whose lowering makes float32, and casts the result to the dtype that was
asked for. Traced, the prim had no dtype and took the default one: with bfloat16 as the default the cast looked like one
from bfloat16 to bfloat16 and was dropped, and the float32 values of the kernel were given back.
Correct: bfloat16, as in eager and as the call says. Source: pytorch issue 138015, PR 136041 (for issue 119162).
"""

import torch


def draw(device: str) -> torch.Tensor:
    return torch.randn(2, dtype=torch.bfloat16, device=device)


def test_dtype_of_a_draw(device: str, backend: str) -> None:
    torch.set_default_dtype(torch.bfloat16)
    assert draw(device).dtype == torch.bfloat16
    drawn = torch.compile(draw, backend=backend)(device)
    assert drawn.dtype == torch.bfloat16, f"randn was asked for bfloat16 and gave {drawn.dtype}"


if __name__ == "__main__":
    test_dtype_of_a_draw("cpu", "inductor")
