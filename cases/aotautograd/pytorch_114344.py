# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114344"
# same-fix = "pytorch_88813"
# title = "The same sum with and without no_grad becomes one output that needs no gradient"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the sums need a gradient: \(False, False\), one tensor: True'
# ///
"""Common subexpressions are merged without a look at the mode under which they were computed, so that the second sum
is the first one, which was computed without a gradient. Correct: two outputs, of which the second needs a gradient.
Source: pytorch issue 114344.
"""

import torch


def sums(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        first = x + 1
    return first, x + 1


def test_second_sum_needs_a_gradient(device: str, backend: str) -> None:
    first, second = torch.compile(sums, backend=backend)(torch.ones(4, device=device, requires_grad=True))
    needs = (first.requires_grad, second.requires_grad)
    assert needs == (False, True), f"the sums need a gradient: {needs}, one tensor: {first is second}"


if __name__ == "__main__":
    test_second_sum_needs_a_gradient("cpu", "aot_eager")
