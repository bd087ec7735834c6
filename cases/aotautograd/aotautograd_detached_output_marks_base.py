# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/195357"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A detached output takes the gradient away from its differentiable aliases"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager", "inductor"]
# demands = ["training", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# backend = "inductor"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the first view requires grad, and x gets none'
# ///
"""ctx.mark_non_differentiable goes by tensor object. Two views of y make AOTAutograd return y as a hidden
base; Inductor lowers y.detach() to nothing and returns the same object for it; marking the detached
output non-differentiable so marks the base as well. The views that are regenerated from it still say that
they require grad, but their history ends there, and x gets no gradient. Correct: the gradient of a view
reaches x; the detached output needs none. The backend aot_eager keeps two objects and is right.
Source: pytorch PR 195357 (closed).
"""

import torch


def parts_and_detached(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.sin()
    return y[:2], y[2:], y.detach()


def gradients(fn: object, device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device, requires_grad=True)
    expected = fn(x)
    actual = torch.compile(fn, backend=backend)(x)
    torch.testing.assert_close(actual, expected)
    flags, expected_flags = [t.requires_grad for t in actual], [t.requires_grad for t in expected]
    assert flags == expected_flags, f"requires_grad {flags}, eager {expected_flags}"
    (expected_gradient,) = torch.autograd.grad(expected[0].sum(), x)
    (gradient,) = torch.autograd.grad(actual[0].sum(), x, allow_unused=True)
    assert gradient is not None, "the first view requires grad, and x gets none"
    torch.testing.assert_close(gradient, expected_gradient)


def test_views_and_detached_base(device: str, backend: str) -> None:
    gradients(parts_and_detached, device, backend)


if __name__ == "__main__":
    test_views_and_detached_base("cpu", "inductor")
