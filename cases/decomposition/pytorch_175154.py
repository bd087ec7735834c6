# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/175154"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.11.0.dev20260209"
# title = "The decomposition of nearest interpolation resamples a dimension of unchanged size"
# component = "decomposition"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "pixels \\[1\\.0, 1\\.0\\], not \\[1\\.0, 2\\.0\\]"
# ///
"""A scale of 1.3 makes 2 columns of 2, and eager's kernel copies a dimension whose size stays the same. The
decomposition computes the source of every column from the scale, floor(column / 1.3), and takes the first one
twice. Correct: the result is the input. Source: pytorch issue 175154.
"""

import torch


def enlarge(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.interpolate(x, scale_factor=1.3, mode="nearest")


def test_unchanged_dimension(device: str, backend: str) -> None:
    x = torch.tensor([[[[1.0, 2.0]]]], device=device)
    pixels = [fn(x).flatten().tolist() for fn in (torch.compile(enlarge, backend=backend), enlarge)]
    assert pixels[0] == pixels[1], f"pixels {pixels[0]}, not {pixels[1]}"


if __name__ == "__main__":
    test_unchanged_dimension("cpu", "aot_eager")
