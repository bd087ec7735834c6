# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/93363"
# fix = "https://github.com/pytorch/pytorch/pull/128229"
# title = "In-place update of a view input is lost to the gradient of its base"
# component = "aotautograd"
# symptom = "wrong-result"
# found-beside = "https://github.com/pytorch/pytorch/issues/93363"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 6 \([\d.]+%\)\nGreatest absolute difference: 36\.0 '
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 6 \([\d.]+%\)\nGreatest absolute difference: 4\.0 '
# ///
"""AOTAutograd writes the updated copy of an input back after the graph has run, and autograd has to see that
write as a change of the base, if the input is a view of one that requires grad. Torch 2.2 and 2.3 left a base
of right values whose gradient is zero where the view lies. Correct: values and gradient of the base as in
eager. fullgraph=True, so that the check cannot pass by falling back to eager. (Torch 2.0 changes wrong
elements before: pytorch_93363.) Source: the program of pytorch issue 93363, differentiated.
"""

import torch


def increment(a: torch.Tensor) -> tuple[()]:
    a.add_(1)
    return ()


def test_gradient_of_the_base(device: str, backend: str) -> None:
    leaf = torch.arange(6.0, device=device, requires_grad=True)
    base, reference = leaf * 2, leaf * 2
    increment(reference[::2])
    torch.compile(increment, backend=backend, fullgraph=True)(base[::2])
    torch.testing.assert_close(base, reference, rtol=0, atol=0)
    (expected,) = torch.autograd.grad(reference.square().sum(), leaf)
    (actual,) = torch.autograd.grad(base.square().sum(), leaf)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_gradient_of_the_base("cpu", "aot_eager")
