# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/187018"
# fix = "https://github.com/pytorch/pytorch/pull/187024"
# title = "A sum of negated uint8 magnitudes is computed in int"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = "sum of negated uint8 magnitudes is -816, not 720"
# ///
"""The C++ kernel computes abs of an unsigned value with std::abs, whose result is an int, and negates that int: the
wrap to uint8 that a store would make is missing where the value is used in the same kernel. Correct: each term is
wrapped to uint8 (256 - x) before the sum. Source: pytorch issue 187018.
"""

import torch


def total(x: torch.Tensor) -> torch.Tensor:
    y = -x.abs()
    return torch.cat([y, y]).sum()


def test_terms_stay_uint8(device: str, backend: str) -> None:
    x = torch.tensor([200, 201, 7], dtype=torch.uint8, device=device)
    expected = total(x).item()
    actual = torch.compile(total, backend=backend)(x).item()
    assert actual == expected, f"sum of negated uint8 magnitudes is {actual}, not {expected}"


if __name__ == "__main__":
    test_terms_stay_uint8("cpu", "inductor")
