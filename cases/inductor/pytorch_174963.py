# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174963"
# fix = "https://github.com/pytorch/pytorch/pull/175638"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.11.0.dev20260209"
# title = "as_strided of a rolled channels_last tensor reads another layout"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
# demands = ["aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "Mismatched elements: 31 / 32"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "Mismatched elements: 31 / 32"
# ///
"""as_strided reads its input's memory as it lies. Inductor chooses the layout of an intermediate itself and
realized the result of roll as contiguous, while in eager, and in the graph, it is channels_last like its input;
the strides then select other elements. Correct: eager's elements. Source: pytorch issue 174963.
"""

import torch


def roll_and_cut(x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(torch.roll(x, shifts=-1, dims=0), (4, 8), (3, 1), 0)


def test_layout_under_as_strided(device: str, backend: str) -> None:
    x = torch.arange(96, device=device).reshape(2, 4, 3, 4).to(memory_format=torch.channels_last)
    actual = torch.compile(roll_and_cut, backend=backend)(x)
    torch.testing.assert_close(actual, roll_and_cut(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_layout_under_as_strided("cpu", "inductor")
