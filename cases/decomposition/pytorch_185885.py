# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/185885"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "index_add takes a negative index for one from the end"
# component = "decomposition"
# symptom = "missing-error"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'index \-1 adds to the last row: \[1\.0, 0\.0, 1\.0\]'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "crash"
# signal = "SIGABRT"
# output = 'double free or corruption[^\n]*\n(?s:.*) in test_negative_index'
# ///
"""Eager's index_add refuses indices below 0. Its decomposition is index_put with accumulate, which counts them from
the end. Correct: eager's error.
Source: pytorch issue 185885.
"""

import torch


def added(x: torch.Tensor, index: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return torch.index_add(x, 0, index, rows)


def test_negative_index(device: str, backend: str) -> None:
    compiled = torch.compile(added, backend=backend)
    x, rows = torch.zeros(3, 1, device=device), torch.ones(2, 1, device=device)
    compiled(x, torch.tensor([0, 1], device=device), rows)
    try:
        values = compiled(x, torch.tensor([0, -1], device=device), rows).flatten().tolist()
    except Exception as error:
        assert "out of" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"index -1 adds to the last row: {values}")


if __name__ == "__main__":
    test_negative_index("cpu", "inductor")
