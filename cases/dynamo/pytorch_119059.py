# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/119059"
# fix = "https://github.com/pytorch/pytorch/pull/123700"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "ctx.needs_input_grad is not available while an autograd.Function's backward is traced"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["autograd-function"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "call_method GetAttrVariable\\(AutogradFunctionContextVariable\\(Function\\), needs_input_grad\\)"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "autograd\\.Function with requires_grad"
# ///
"""Dynamo traces forward and backward of an autograd.Function with a context object of its own that knew nothing of
needs_input_grad. A backward that asks which gradients are wanted, as the documentation recommends, breaks the graph.
Correct: one graph, (True, False), and the gradient of eager. Source: pytorch issue 119059.
"""

import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad: torch.Tensor):
        (factor,) = ctx.saved_tensors
        return (grad * factor if ctx.needs_input_grad[0] else None), None


def scale(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    return Scale.apply(x, factor)


def test_backward_asks_for_the_wanted_gradients(device: str, backend: str) -> None:
    x = torch.ones(2, device=device, requires_grad=True)
    factor = torch.full((2,), 4.0, device=device)
    torch.compile(scale, backend=backend, fullgraph=True)(x, factor).sum().backward()
    torch.testing.assert_close(x.grad, factor, rtol=0, atol=0)


if __name__ == "__main__":
    test_backward_asks_for_the_wanted_gradients("cpu", "aot_eager")
