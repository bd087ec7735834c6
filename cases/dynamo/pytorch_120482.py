# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/120482"
# title = "An out= argument that is resized fails with dynamic shapes"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["mutation", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'symbolic_shapes\.py:\d+ produce_guards'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'list index out of range'
# frame = 'symbolic_shapes\.py:\d+ produce_guards'
# ///
"""The empty tensor for the result is a graph input, and the operator gives it another size. Dynamo asserts that the size of
an input stays. Correct: a graph break, the result, and its size in the input.
Source: pytorch issue 120482; a regression test of PyTorch's names it.
"""

import torch


def doubled(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    torch.add(x, x, out=out)
    return out.size(0) + out.sum()


def test_size_of_the_result(device: str, backend: str) -> None:
    x, out = torch.ones(3, 4, device=device), torch.empty(0, device=device)
    value = torch.compile(doubled, backend=backend, dynamic=True)(x, out).item()
    assert (value, tuple(out.shape)) == (27.0, (3, 4)), f"rows and sum are {value}, the size is {tuple(out.shape)}"


if __name__ == "__main__":
    test_size_of_the_result("cpu", "eager")
