# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/113263"
# fix = "https://github.com/pytorch/pytorch/pull/123196"
# title = "Hooks on saved tensors are not applied to what a compiled function saves"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["hook"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradients are \(20\.0, 12\.0\), not \(10\.0, 6\.0\)'
# ///
"""saved_tensors_hooks lets user code pack and unpack each tensor that autograd saves. The hooks were active while
AOTAutograd traced, and not for the tensors that the compiled function saves, or the reverse. Here unpacking
doubles a tensor. Correct: the gradients of eager, which are doubled. Source: pytorch issue 113263.
"""

import torch
from torch.autograd.graph import saved_tensors_hooks


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a * b


def test_unpacked_tensors_are_doubled(device: str, backend: str) -> None:
    gradients = []
    for fn in (product, torch.compile(product, backend=backend)):
        a = torch.tensor(3.0, device=device, requires_grad=True)
        b = torch.tensor(5.0, device=device, requires_grad=True)
        with saved_tensors_hooks(lambda x: x, lambda x: 2 * x):
            y = fn(a, b)
        y.backward()
        gradients.append((a.grad.item(), b.grad.item()))
    assert gradients[1] == gradients[0], f"gradients are {gradients[1]}, not {gradients[0]}"


if __name__ == "__main__":
    test_unpacked_tensors_are_doubled("cpu", "aot_eager")
