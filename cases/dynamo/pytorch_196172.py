# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196172"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.10.0.dev20251021"
# title = "An object with __index__ as a slice bound raises TypeError in compiled code"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "raise"
# error = "TypeError"
# match = "slice indices must be integers or None or have an __index__ method"
# ///
"""Python's slice takes any object with __index__ as a bound. In compiled code the object is not asked for its
index, and the TypeError of a slice with a foreign bound leaves the call. Correct: the object's __index__ is
called, and the slice is that of eager.
Source: pytorch issue 196172.
"""

import torch


class Two:
    def __index__(self) -> int:
        return 2


def head(x: torch.Tensor, length: Two) -> torch.Tensor:
    return x[:length] + 1


def test_slice_bound_with_index_method(device: str, backend: str) -> None:
    x = torch.arange(5, device=device)
    actual = torch.compile(head, backend=backend)(x, Two())
    torch.testing.assert_close(actual, x[:2] + 1, rtol=0, atol=0)


if __name__ == "__main__":
    test_slice_bound_with_index_method("cpu", "eager")
