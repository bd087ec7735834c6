# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198095"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Output that is a view of an offset input merged into a synthetic base is regenerated from the base"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# check = "test_select"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 3 \([\d.]+%\)\nGreatest absolute difference: 6\.0 '
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# check = "test_flatten"
# outcome = "raise"
# error = "AssertionError"
# match = 'incorrect out shape after application of ViewMeta sequence: \(12,\) \(actual\) vs \(6,\)'
# ///
"""A write to one of two aliasing inputs makes AOTAutograd merge both into a synthetic base. An output that
is a view of the merged input keeps the view sequence recorded against that input, but it is replayed on the
base, whose shape and storage offset differ: tail[0] comes back as full[0], silently, and tail.view(-1)
trips an internal assertion about its shape. Correct: values equal eager's, for the output and the base.
Source: issue 198095, PR 198097 (open).
"""

import torch


def write_and_select(full: torch.Tensor, tail: torch.Tensor) -> torch.Tensor:
    full.add_(1)
    return tail[0]


def write_and_flatten(full: torch.Tensor, tail: torch.Tensor) -> torch.Tensor:
    full.add_(1)
    return tail.view(-1)


def compare(fn, device: str, backend: str) -> None:
    reference = torch.arange(12.0, device=device).reshape(4, 3)
    base = reference.clone()
    expected = fn(reference, reference[2:])
    actual = torch.compile(fn, backend=backend)(base, base[2:])
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    torch.testing.assert_close(base, reference, rtol=0, atol=0)


def test_select(device: str, backend: str) -> None:
    compare(write_and_select, device, backend)


def test_flatten(device: str, backend: str) -> None:
    compare(write_and_flatten, device, backend)


if __name__ == "__main__":
    test_select("cpu", "aot_eager")
    test_flatten("cpu", "aot_eager")
