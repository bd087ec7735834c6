# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/90552"
# fix = "https://github.com/pytorch/pytorch/pull/113277"
# same-fix = "pytorch_99455"
# title = "A leaf that is made in the compiled function needs no gradient outside"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'leaf and product need a gradient: \(False, False\)'
# ///
"""No input needs a gradient, so the graph is compiled for inference, and its outputs need none, though the function makes a
leaf that does. Correct: leaf and product need a gradient.
Source: pytorch issue 90552; a regression test of PyTorch's names it.
"""

import torch


def leaf_and_product() -> tuple[torch.Tensor, torch.Tensor]:
    leaf = torch.ones(2, requires_grad=True)
    return leaf, leaf * 2


def test_leaf_needs_a_gradient(backend: str) -> None:
    leaf, product = torch.compile(leaf_and_product, backend=backend)()
    needs = (leaf.requires_grad, product.requires_grad)
    assert needs == (True, True), f"leaf and product need a gradient: {needs}"
    product.sum().backward()
    torch.testing.assert_close(leaf.grad, torch.full((2,), 2.0))


if __name__ == "__main__":
    test_leaf_needs_a_gradient("aot_eager")
