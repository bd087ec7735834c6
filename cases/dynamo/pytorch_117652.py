# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/117652"
# fix = "https://github.com/pytorch/pytorch/pull/117667"
# title = "A second ctx.save_for_backward is appended instead of replacing the first"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["autograd-function"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "autograd.Function with requires_grad"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "AssertionError"
# match = "trampoline_autograd_bwd"
# frame = "symbolic_convert.py:\\d+ UNPACK_SEQUENCE"
# ///
"""In eager the last call of ctx.save_for_backward decides what backward gets. Dynamo collected the tensors of
all calls in one list, so that backward, while it is traced, unpacks three saved tensors into two names, which
fails an assertion. Correct: it compiles into one graph, and the gradients equal eager's.
Source: pytorch issue 117652.
"""

import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return Product.apply(a, b)


def test_last_save_for_backward_counts(device: str, backend: str) -> None:
    a = torch.tensor([2.0], device=device, requires_grad=True)
    b = torch.tensor([3.0], device=device, requires_grad=True)
    torch.compile(product, backend=backend, fullgraph=True)(a, b).sum().backward()
    assert (a.grad.item(), b.grad.item()) == (3.0, 2.0), f"gradients {a.grad.item()}, {b.grad.item()}"


if __name__ == "__main__":
    test_last_save_for_backward_counts("cpu", "eager")
