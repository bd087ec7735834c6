# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138908"
# fix = "https://github.com/pytorch/pytorch/pull/139366"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "y[x] += y[x] through a computed index with repeated entries is applied twice"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["inductor"]
# demands = ["mutation", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 1 / 4 \([\d.]+%\)\nGreatest absolute difference: 2\.0 '
# ///
"""The read of the old elements is fused into the loop that writes the new ones back, in place. For an index
with repeated entries the second iteration reads what the first one wrote, and the update is applied twice.
The order of the writes is undefined, but all of them store the same value. Correct: equals eager, which
reads everything before it writes. Source: issue 138908.
"""

import torch


def double_selected(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    position = index // 2
    values[position] += values[position]
    return values


def test_repeated_index(device: str, backend: str) -> None:
    index = torch.tensor([0, 1, 4], device=device)
    expected = double_selected(torch.arange(1.0, 5.0, device=device), index)
    compiled = torch.compile(double_selected, backend=backend, dynamic=True)
    actual = compiled(torch.arange(1.0, 5.0, device=device), index)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_repeated_index("cpu", "inductor")
