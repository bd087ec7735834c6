# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/156356"
# title = "backward_pass_autocast as a list: the compiled backward runs under the autocast named"
# component = "aotautograd"
# symptom = "wrong-result"
# guard = true
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "autocast"]
# requires-torch = ">=2.9"
# ///
"""backward_pass_autocast may be "same_as_forward", "off", or a list of arguments of torch.autocast, for a program
that runs backward() under an autocast of its own. The backward is traced under these, whatever surrounds the
forward. Correct: the gradient that eager computes when backward() is called under that autocast: with 1.001
rounded to bfloat16's 1. Source: pytorch PR 156356.
"""

import torch
import torch._functorch.config as functorch_config


class Product(torch.autograd.Function):
    """A product whose backward is written with operators that autocast casts."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, weight = ctx.saved_tensors
        return (grad @ weight.t()).float(), (x.t() @ grad).float()


def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return Product.apply(x, weight)


def test_backward_under_named_autocast(device: str, backend: str) -> None:
    options = {"device_type": device, "dtype": torch.bfloat16}
    gradients = []
    for fn in (product, torch.compile(product, backend=backend)):
        x = torch.arange(8.0, device=device).reshape(2, 4).requires_grad_()
        weight = torch.arange(8.0, device=device).reshape(4, 2).requires_grad_()
        with functorch_config.patch(backward_pass_autocast=[options]):
            out = fn(x, weight)
        assert out.dtype == torch.float32, out.dtype
        with torch.autocast(**options):
            gradients.append(torch.autograd.grad((out * 1.001).sum(), (x, weight)))
    assert gradients[0][0][0].tolist() == [1.0, 5.0, 9.0, 13.0], "eager control"
    torch.testing.assert_close(gradients[1], gradients[0])


if __name__ == "__main__":
    test_backward_under_named_autocast("cpu", "aot_eager")
