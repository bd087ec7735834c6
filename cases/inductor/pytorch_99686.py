# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/99686"
# title = "split and cat in another order are taken for the identity"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the pieces are \[0, 1, 2, 3, 4, 5, 6, 7\]'
# ///
"""The pass that removes a cat of all pieces of a split does not look at their order. Correct: the pieces change
places.
Source: pytorch issue 99686.
"""

import torch


def swapped(x: torch.Tensor) -> torch.Tensor:
    a, b, c = torch.split(x, [3, 2, 3], dim=1)
    return torch.cat([b, a, c], dim=1)


def test_order_of_the_pieces(device: str, backend: str) -> None:
    values = torch.compile(swapped, backend=backend)(torch.arange(8.0, device=device).reshape(1, 8))[0].int().tolist()
    assert values == [3, 4, 0, 1, 2, 5, 6, 7], f"the pieces are {values}"


if __name__ == "__main__":
    test_order_of_the_pieces("cpu", "inductor")
