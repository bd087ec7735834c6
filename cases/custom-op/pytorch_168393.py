# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/168393"
# title = "torch.func.grad over a custom op with register_autograd"
# component = "custom-op"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["custom-op"]
# demands = ["custom-op", "training"]
# requires-torch = ">=2.4"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "RuntimeError"
# match = "it must override the setup_context staticmethod"
# ///
"""register_autograd with a setup_context is what functorch asks of an operator. The op's autograd kernel is built as an
autograd.Function of the old form, which takes ctx in forward, and functorch refuses that form with the advice to
write the setup_context that is there. Correct: the registered backward is used.
Source: pytorch issue 168393.
"""

import torch


@torch.library.custom_op("pytorch_168393::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


def setup_context(ctx, inputs, output) -> None:
    ctx.factor = inputs[1]


def backward(ctx, gradient: torch.Tensor):
    return gradient * ctx.factor, None


scale.register_autograd(backward, setup_context=setup_context)


def test_gradient_of_a_custom_op(device: str) -> None:
    gradient = torch.func.grad(lambda x: scale(x, 3.0).sum())(torch.ones(2, device=device)).tolist()
    assert gradient == [3.0, 3.0], f"gradient {gradient}"


if __name__ == "__main__":
    test_gradient_of_a_custom_op("cpu")
