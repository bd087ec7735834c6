# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144142"
# fix = "https://github.com/pytorch/pytorch/pull/144597"
# title = "An autograd.Function that returns a tensor and a list is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["autograd-function"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'autograd\.Function with requires_grad'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "reason was: HigherOrderOperator body's output must consist of tensors only"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "HigherOrderOperator body's output must consist of tensors only"
# ///
"""The outputs of the Function's forward had to be tensors alone. Correct: one graph, the list as it
is, and the gradient.
Source: pytorch issue 144142.
"""

import torch


class CopyAndList(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        return x.clone(), [1, 2, 3]

    @staticmethod
    def backward(ctx, grad: torch.Tensor, _: None) -> torch.Tensor:
        return grad


def test_tensor_and_list(device: str, backend: str) -> None:
    x = torch.tensor(2.0, device=device, requires_grad=True)
    copy, numbers = torch.compile(lambda x: CopyAndList.apply(x), backend=backend, fullgraph=True)(x)
    copy.backward()
    assert (numbers, x.grad.item()) == ([1, 2, 3], 1.0), f"list {numbers} and gradient {x.grad.item()}"


if __name__ == "__main__":
    test_tensor_and_list("cpu", "eager")
