# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/181581"
# fix = "https://github.com/pytorch/pytorch/pull/181606"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "autograd.grad(create_graph=True) in a compiled function returns a gradient without graph"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training"]
# labels = ["gradient"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "gradient lost its graph"
# ///
"""autograd.grad breaks the Dynamo graph, so it runs the compiled backward with grad mode on. Whether that
backward is itself recorded was decided by its saved tensors alone; the product saved here was made inside a
no-grad autograd.Function.forward and requires no gradient, so the returned gradient has no graph: a penalty
on it trains nothing, silently. Correct: values equal eager's, and requires_grad and grad_fn are there
(differentiating it again may still be refused, with a clear error). Source: issue 181581, PR 181606.
"""

import torch


def gradient_of_weight(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    (gradient,) = torch.autograd.grad(torch.sin(x @ w).sum(), w, create_graph=True)
    return gradient


def test_gradient_keeps_its_graph(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 6, device=device).reshape(2, 3)
    w = torch.linspace(1, 2, 12, device=device).reshape(3, 4).requires_grad_()
    expected = gradient_of_weight(x, w)
    assert expected.requires_grad
    actual = torch.compile(gradient_of_weight, backend=backend)(x, w)
    torch.testing.assert_close(actual.detach(), expected.detach())
    assert actual.requires_grad and actual.grad_fn is not None, "gradient lost its graph"


if __name__ == "__main__":
    test_gradient_keeps_its_graph("cpu", "aot_eager")
