# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/176851"
# fix = "https://github.com/pytorch/pytorch/pull/177191"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An attribute of a class that changes between two calls is not guarded"
# component = "dynamo"
# symptom = "wrong-result"
# # More graphs since torch 2.12: the function is compiled again.
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "class attribute is read as 1\\.0, not 10\\.0"
# ///
"""Reading an attribute from a class makes its value part of the graph, which asks for a guard on that attribute.
From torch 2.4 on none was installed for classes, so the function compiled for the old value runs on after an
assignment to the class. Correct: the function is compiled again. Source: pytorch issue 176851.
"""

import torch


class Settings:
    factor = 1.0


def scale(x: torch.Tensor) -> torch.Tensor:
    return x * Settings.factor


def test_changed_class_attribute(device: str, backend: str) -> None:
    x = torch.ones(1, device=device)
    compiled = torch.compile(scale, backend=backend)
    Settings.factor = 1.0
    assert compiled(x).item() == 1.0
    Settings.factor = 10.0
    actual, expected = compiled(x).item(), scale(x).item()
    assert actual == expected, f"class attribute is read as {actual}, not {expected}"


if __name__ == "__main__":
    test_changed_class_attribute("cpu", "eager")
