# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198270"
# title = "A copy back into the input is fused with a read of other positions"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.15.0.dev20260921"
# devices = ["cpu"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the rows are \[2002\.0, 220\.0, 420\.0, 4002\.0\]'
# ///
"""index_put_ and add_ both change the input. The copy of the final value into it is fused with the kernel that reads
the flipped rows, which are partly overwritten by then. Correct: eager's sums.
Source: pytorch issue 198270.
"""

import torch


def folded(x: torch.Tensor) -> torch.Tensor:
    x.index_put_((torch.arange(x.size(0)),), x * 2)
    x.add_(x.flip(0))
    return x


def test_flipped_rows_are_added(device: str, backend: str) -> None:
    x = torch.tensor([[1.0], [10.0], [100.0], [1000.0]], device=device)
    values = torch.compile(folded, backend=backend)(x).flatten().tolist()
    assert values == [2002.0, 220.0, 220.0, 2002.0], f"the rows are {values}"


if __name__ == "__main__":
    test_flipped_rows_are_added("cpu", "inductor")
