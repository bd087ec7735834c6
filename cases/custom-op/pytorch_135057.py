# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/135057"
# fix = "https://github.com/pytorch/pytorch/pull/135066"
# title = "Compiled autograd cannot trace the backward of a custom operator"
# component = "custom-op"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["compiled-autograd", "custom-op"]
# demands = ["training", "custom-op"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'inline in skipfiles: make_autograd_impl\.<locals>\.backward'
# ///
"""The formula that register_autograd gives to a custom operator is called from an autograd.Function that torch makes
for it, in torch._library.autograd. Dynamo had that file among those it does not trace into; in the forward the
operator is one node, so only compiled autograd, which traces the backward, comes there. Correct: the
backward is one graph and calls the formula. Source: pytorch issue 135057, PR 135066.
"""

import functools

import torch
from torch._dynamo import compiled_autograd

enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable


@torch.library.custom_op("pt2bugs::cube_135057", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x**3


def save(ctx, inputs, output) -> None:
    ctx.save_for_backward(inputs[0])


def gradient(ctx, grad: torch.Tensor) -> torch.Tensor:
    (x,) = ctx.saved_tensors
    return grad * 3 * x**2


cube.register_autograd(gradient, setup_context=save)


def test_formula_is_traced(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device, requires_grad=True)
    out = cube(x).sum()
    with enable(functools.partial(torch.compile, backend=backend, fullgraph=True)):
        out.backward()
    torch.testing.assert_close(x.grad, torch.tensor([0.0, 3.0, 12.0], device=device))


if __name__ == "__main__":
    test_formula_is_traced("cpu", "eager")
