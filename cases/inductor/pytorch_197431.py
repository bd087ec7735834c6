# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197431"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "as_strided of a slice of a computed tensor counts from the slice"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = ["aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the first 2 x 2 elements are \[\[11\.0, 13\.0\], \[21\.0, 23\.0\]\]'
# ///
"""The strides and the offset of as_strided are those of the storage. Inductor realizes the slice, a lazy view, as a
buffer of its own and applies them to that. Correct: eager's values, or a refusal.
Source: pytorch issue 197431.
"""

import torch


def restrided(x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided((x * 2)[1:, 1:], (2, 2), (4, 1), 0) + 1


def test_offset_of_the_storage(device: str, backend: str) -> None:
    x = torch.arange(16.0, device=device).reshape(4, 4)
    values = torch.compile(restrided, backend=backend)(x).tolist()
    assert values == [[1.0, 3.0], [9.0, 11.0]], f"the first 2 x 2 elements are {values}"


if __name__ == "__main__":
    test_offset_of_the_storage("cpu", "inductor")
