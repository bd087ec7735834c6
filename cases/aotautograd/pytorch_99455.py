# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/99455"
# fix = "https://github.com/pytorch/pytorch/pull/113277"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A tensor made with requires_grad=True in the graph does not require grad"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'requires_grad of leaf and sum is \(False, False\)'
# ///
"""A graph's outputs require grad if an input does. A factory call with requires_grad=True makes a leaf inside the
graph, and AOTAutograd, which saw no input that requires grad, compiled for inference. Correct: the leaf and what
is computed from it require grad. Source: pytorch issue 99455.
"""

import torch


def made(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    leaf = torch.ones(3, device=x.device, requires_grad=True)
    return leaf, leaf + x


def test_outputs_require_grad(device: str, backend: str) -> None:
    leaf, total = torch.compile(made, backend=backend)(torch.zeros(3, device=device))
    actual = (leaf.requires_grad, total.requires_grad)
    assert actual == (True, True), f"requires_grad of leaf and sum is {actual}"


if __name__ == "__main__":
    test_outputs_require_grad("cpu", "aot_eager")
