# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174050"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.10.0.dev20251021"
# title = "isinstance()/__class__ on an object whose class overrides __class__ differ from Python"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.15"
# check = "test_isinstance"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 2 \([\d.]+%\)\nGreatest absolute difference: 1\.0 '
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# check = "test_class_attribute"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 2 \([\d.]+%\)\nGreatest absolute difference: 1\.0 '
# ///
"""isinstance falls back to __class__, and __class__ may be a property; Dynamo answers both from
type(object), so a proxy is not taken for what it says it is, and the other branch is compiled. Correct:
Python's answer in both forms; equals eager. Source: issue 174050.
"""

import torch


class Target:
    pass


class Proxy:
    @property
    def __class__(self):
        return Target


def scale_by_kind(x: torch.Tensor, p: object) -> torch.Tensor:
    return x * 2 if isinstance(p, Target) else x * 3


def scale_by_class(x: torch.Tensor, p: object) -> torch.Tensor:
    return x * 2 if p.__class__ is Target else x * 3


def compare(fn, device: str, backend: str) -> None:
    x = torch.ones(2, device=device)
    torch.testing.assert_close(torch.compile(fn, backend=backend)(x, Proxy()), fn(x, Proxy()), rtol=0, atol=0)


def test_isinstance(device: str, backend: str) -> None:
    compare(scale_by_kind, device, backend)


def test_class_attribute(device: str, backend: str) -> None:
    compare(scale_by_class, device, backend)


if __name__ == "__main__":
    test_isinstance("cpu", "eager")
    test_class_attribute("cpu", "eager")
