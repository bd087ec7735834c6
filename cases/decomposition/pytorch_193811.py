# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/193811"
# title = "Bilinear upsampling of integers is computed where eager refuses the dtype"
# component = "decomposition"
# symptom = "missing-error"
# devices = ["cpu"]
# upstream = "open"
# upstream-seen = 2026-11-24
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'the integers 0 and 4 are enlarged to \[0, 1, 3, 4, 0, 1, 3, 4\], eager refuses the dtype'
# ///
"""Eager has the kernel for floats and bytes. The decomposition converts any dtype to float and back. Correct: eager's
refusal.
Source: pytorch issue 193811.
"""

import torch


def enlarged(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.upsample_bilinear2d(x, [2, 4], False, None, None)


def test_integers_are_refused(device: str, backend: str) -> None:
    compiled = torch.compile(enlarged, backend=backend)
    x = torch.tensor([[[[0, 4]]]], dtype=torch.int32, device=device)
    compiled(x.float())
    try:
        values = compiled(x).flatten().tolist()
    except Exception as error:
        assert "not implemented for" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"the integers 0 and 4 are enlarged to {values}, eager refuses the dtype")


if __name__ == "__main__":
    test_integers_are_refused("cpu", "inductor")
