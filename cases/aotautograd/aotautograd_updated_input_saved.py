# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/185497"
# fix = "https://github.com/pytorch/pytorch/pull/185876"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Backward needs the old value of an input that the graph updates"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.15"
# outcome = "raise"
# error = "RuntimeError"
# match = 'modified by an inplace operation: \[torch\.\S*FloatTensor \[4\]\].* is at version 1; expected version 0'
# ///
"""The derivative of a.mul_(b) with respect to b is the old value of a. The compiled autograd.Function saves
the input a itself for backward, then the epilogue copies the updated value into it, which raises its
version, so backward refuses the saved tensor. Eager keeps a copy of the old value. Correct: gradients as
in eager. Source: issue 185497 reports the same error.
"""

import torch


def scale(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.mul_(b)
    return a + 1


def compare(updated_requires_grad: bool, device: str, backend: str) -> None:
    results = []
    for fn in (scale, torch.compile(scale, backend=backend)):
        leaf = torch.arange(1, 5.0, device=device, requires_grad=updated_requires_grad)
        a, b = leaf.clone(), torch.arange(2, 6.0, device=device, requires_grad=True)
        out = fn(a, b)
        leaves = [t for t in (leaf, b) if t.requires_grad]
        results.append([out, a, *torch.autograd.grad(out.sum() + a.sum(), leaves)])
    torch.testing.assert_close(results[1], results[0])


def test_updated_input_requires_grad(device: str, backend: str) -> None:
    compare(True, device, backend)


def test_updated_input_without_grad(device: str, backend: str) -> None:
    compare(False, device, backend)


if __name__ == "__main__":
    test_updated_input_requires_grad("cpu", "aot_eager")
    test_updated_input_without_grad("cpu", "aot_eager")
