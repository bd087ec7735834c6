# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy<2", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/93262"
# upstream = "closed"
# upstream-seen = 2026-11-24
# reported-on = "2.0.0.dev20230129"
# title = "Bilinear interpolation to one pixel samples the corner"
# component = "decomposition"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "pixels \\[0\\.0, 70\\.0\\] for the middle"
# ///
"""Without align_corners the source position of an output pixel is its centre times the ratio of sizes. For an output of
size 1 the decomposition took the ratio 0, as with aligned corners, and so the value in the corner.
Correct: the middle of the image, as in eager. Source: pytorch issue 93262.
"""

import torch


def shrink(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.interpolate(x, size=[1, 1], mode="bilinear")


def test_one_pixel(device: str, backend: str) -> None:
    x = torch.arange(140.0, device=device).reshape(1, 2, 7, 10)
    actual = torch.compile(shrink, backend=backend)(x).flatten().tolist()
    assert actual == [34.5, 104.5], f"pixels {actual} for the middle, [34.5, 104.5]"


if __name__ == "__main__":
    test_one_pixel("cpu", "aot_eager")
