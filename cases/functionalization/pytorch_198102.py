# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198102"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Writing through an unfold view with step > size zeroes the base elements no window covers"
# component = "functionalization"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 6 / 12 \([\d.]+%\)\nGreatest absolute difference: 10\.0 '
# ///
"""To replay a write on the base, functionalization uses unfold_backward as the inverse of unfold. That is a
formula for gradients: elements outside every window get zero. As a new value of the base this wipes what
the write did not touch. Correct: the result and the mutated input equal eager's.
Source: issue 198102, PR 198105 (open).
"""

import torch


def scale_windows(base: torch.Tensor) -> torch.Tensor:
    base.unfold(0, 2, 5).mul_(10)
    return base + 0


def test_gaps_between_windows(device: str, backend: str) -> None:
    reference = torch.arange(1.0, 13.0, device=device)
    base = reference.clone()
    expected = scale_windows(reference)
    actual = torch.compile(scale_windows, backend=backend)(base)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    torch.testing.assert_close(base, reference, rtol=0, atol=0)


if __name__ == "__main__":
    test_gaps_between_windows("cpu", "aot_eager")
