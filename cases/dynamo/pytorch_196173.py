# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196173"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A branch on the identity of two attributes that are swapped is taken once for all"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'results of four calls are \[1\.0, (-1\.0, -1\.0, -1\.0|1\.0, 1\.0, 1\.0)\]'
# ///
"""The function asks whether an attribute is the same object as another and then changes it. Dynamo guards the
objects' types, not which of them is which, so the second call reuses the first call's branch. Correct: calls take
the two branches in turn; torch 2.0 compiles nothing here, which is right. Source: pytorch issue 196173.
"""

import torch


class Pair:
    def __init__(self) -> None:
        self.left, self.right = object(), object()
        self.current = self.left


def swing(x: torch.Tensor, pair: Pair) -> torch.Tensor:
    is_left = pair.current is pair.left
    pair.current = pair.right if is_left else pair.left
    return x + 1 if is_left else x - 1


def test_branches_alternate(device: str, backend: str) -> None:
    compiled = torch.compile(swing, backend=backend)
    pair, x = Pair(), torch.zeros(1, device=device)
    actual = [compiled(x, pair).item() for _ in range(4)]
    assert actual == [1.0, -1.0, 1.0, -1.0], f"results of four calls are {actual}"


if __name__ == "__main__":
    test_branches_alternate("cpu", "eager")
