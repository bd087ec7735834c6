# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172386"
# fix = "https://github.com/pytorch/pytorch/pull/173883"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "torch.compile of the pullback returned by torch.func.vjp yields all-zero gradients"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = []
# compiles = false
# labels = ["gradient"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 6 / 6 \([\d.]+%\)\nGreatest absolute difference: 24\.0 '
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "dynamicLayerStack"
# blocked = true
# ///
"""The pullback closes over the outputs of a forward pass that ran in eager, with an autograd graph of its
own. Traced, outputs and inputs become fresh fake tensors with no graph between them, and autograd.grad
(allow_unused) answers zero. Correct: eager's gradients; later releases run the pullback uncompiled, hence
`compiles = false`. Source: issue 172386, PR 173883.
"""

import torch


def project(w: torch.Tensor) -> torch.Tensor:
    return (w * w).sum(1)


def test_compiled_pullback(device: str, backend: str) -> None:
    w = torch.arange(1.0, 7.0, device=device).reshape(2, 3)
    cotangent = torch.tensor([1.0, 2.0], device=device)
    _, pullback = torch.func.vjp(project, w)
    (expected,) = pullback(cotangent)
    assert expected.abs().min() > 0, "eager control failed"
    (actual,) = torch.compile(pullback, backend=backend)(cotangent)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_compiled_pullback("cpu", "aot_eager")
