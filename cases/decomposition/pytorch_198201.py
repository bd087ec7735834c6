# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198201"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Nearest interpolation resamples a dimension whose size it leaves as it is"
# component = "decomposition"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
# same-fix = "pytorch_175154"
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "rows \\[0, 0, 1\\], not \\[0, 1, 2\\]"
# ///
"""A scale of 1.3 makes 3 rows of 3, and eager's kernel copies a dimension whose size stays the same. The decomposition
that AOTAutograd's trace applies, for every backend above it, computes the source of every row from the scale,
floor(row / 1.3), which skips the last one. Correct: each row is its own source. Source: pytorch issue 198201.
"""

import torch


def enlarge(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.interpolate(x, scale_factor=(1.3, 1.5), mode="nearest")


def test_unchanged_dimension(device: str, backend: str) -> None:
    x = torch.arange(3, dtype=torch.float32, device=device).reshape(1, 1, 3, 1).expand(1, 1, 3, 4).contiguous()
    rows = [fn(x)[0, 0, :, 0].int().tolist() for fn in (torch.compile(enlarge, backend=backend), enlarge)]
    assert rows[0] == rows[1], f"rows {rows[0]}, not {rows[1]}"


if __name__ == "__main__":
    test_unchanged_dimension("cpu", "inductor")
