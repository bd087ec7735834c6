# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/136662"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Two equal in-place updates of one slice count once under torch.func.grad"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["inductor"]
# demands = []
# timeout = 180
# compiles = false
# labels = ["gradient"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 6 \([\d.]+%\)\nGreatest absolute difference: 1\.0 '
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_subclasses/meta_utils\.py:\d+ meta_tensor'
# ///
"""Under torch.func.grad the graph that Inductor gets holds forward and backward. Both updates of the slice add
the same value, and Inductor makes them into one, so half of the gradient is missing; the backends eager
and aot_eager are right. Correct: equals eager's gradient. (`compiles = false`: torch 2.2 and older left
torch.func.grad uncompiled, and torch 2.0 stops in an internal error of Dynamo without words.)
Source: pytorch issue 136662.
"""

import torch


def accumulate_twice(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    y[:, 0] += x[:, 2].abs()
    y[:, 0] += x[:, 2].abs()
    return y.sum()


def test_grad_of_repeated_slice_update(device: str, backend: str) -> None:
    x = torch.tensor([[1.0, 2.0, -3.0], [4.0, 5.0, 6.0]], device=device)
    actual = torch.compile(torch.func.grad(accumulate_twice), backend=backend)(x)
    torch.testing.assert_close(actual, torch.func.grad(accumulate_twice)(x))


if __name__ == "__main__":
    test_grad_of_repeated_slice_update("cpu", "inductor")
