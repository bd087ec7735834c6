# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172568"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Gradient of an associative_scan of pairs is wrong where one output is used"
# component = "higher-order-ops"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.14"
# labels = ["control-flow"]
# demands = ["training", "control-flow"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradient of the factors \[0\.0, 0\.0, 0\.0, 0\.0\], not \[0\.0, 7\.0, 9\.0, 7\.0\]'
# ///
"""The backward of associative_scan multiplies the Jacobians of the combine function along the scanned
dimension, leaf by leaf. Where the combination of one leaf reads another, as in an affine recurrence, the
products between leaves are missing. Correct: the gradients of the loop, for the factors too. Source: pytorch
issue 172568.
"""

import torch
from torch._higher_order_ops import associative_scan


def combine(left, right):
    return left[0] * right[0], right[1] + right[0] * left[1]


def scanned(factor: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    return associative_scan(combine, (factor, shift), dim=0, combine_mode="pointwise")[1]


def looped(factor: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    state, states = torch.zeros_like(shift[0]), []
    for a, b in zip(factor, shift):
        state = a * state + b
        states.append(state)
    return torch.stack(states)


def test_gradient_of_an_affine_recurrence(device: str) -> None:
    gradients = []
    for fn in (scanned, looped):
        factor = torch.full((4,), 2.0, device=device, requires_grad=True)
        shift = torch.ones(4, device=device, requires_grad=True)
        fn(factor, shift).sum().backward()
        gradients.append((factor.grad.tolist(), shift.grad.tolist()))
    (factor, shift), expected = gradients
    assert shift == expected[1], f"gradient of the shifts {shift}, not {expected[1]}"
    assert factor == expected[0], f"gradient of the factors {factor}, not {expected[0]}"


if __name__ == "__main__":
    test_gradient_of_an_affine_recurrence("cpu")
