"""The gradient of a transposed convolution inside a compiled function, with sizes that are symbols."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import conv_transpose1d, conv_transpose2d


def task(compile: Callable[..., Any], round: int) -> Any:
    weight = torch.linspace(-1, 1 + round, 18).reshape(1, 2, 3, 3).requires_grad_()

    def score(x: torch.Tensor) -> torch.Tensor:
        return conv_transpose2d(x, weight).square().mean()

    def gradient(x: torch.Tensor) -> Any:
        return torch.func.grad(score)(x * 2)

    return compile(gradient, dynamic=True)(torch.linspace(0, 1 + round, 40).reshape(2, 1, 4, 5))


def twin_one_dimension(compile: Callable[..., Any], round: int) -> Any:
    weight = torch.linspace(-1, 1, 12).reshape(2, 2, 3).requires_grad_()

    def score(x: torch.Tensor) -> torch.Tensor:
        return conv_transpose1d(x, weight).sin().sum()

    def gradient(x: torch.Tensor) -> Any:
        return torch.func.grad(score)(x + 1)

    return compile(gradient, dynamic=True)(torch.linspace(0, 1 + round, 36).reshape(3, 2, 6))


def twin_stride(compile: Callable[..., Any], round: int) -> Any:
    weight = torch.linspace(-1, 1, 36, dtype=torch.float64).reshape(2, 2, 3, 3).requires_grad_()

    def score(x: torch.Tensor) -> torch.Tensor:
        return conv_transpose2d(x, weight, stride=2, padding=1).square().sum()

    def gradient(x: torch.Tensor) -> Any:
        return torch.func.grad(score)(x * 3)

    return compile(gradient, dynamic=True)(torch.linspace(0, 1 + round, 60, dtype=torch.float64).reshape(2, 2, 3, 5))
