"""A tensor that a Function modifies and marks as dirty has that Function's backward."""

from collections.abc import Callable
from typing import Any

import torch


class AddOneInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 5


class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: float) -> torch.Tensor:
        x.mul_(by)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad * 7, None


def double_and_add(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    AddOneInPlace.apply(y)
    return y


def scale_then_sine(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    ScaleInPlace.apply(y, 3.0)
    return y.sin()


def gradient(function: Callable[..., Any], x: torch.Tensor) -> Any:
    x.requires_grad_()
    result = function(x)
    result.sum().backward()
    return result.detach(), x.grad


def task(compile: Callable[..., Any], round: int) -> Any:
    return gradient(compile(double_and_add), torch.ones(2) * (round + 1))


def twin_scaled(compile: Callable[..., Any], round: int) -> Any:
    return gradient(compile(scale_then_sine), torch.linspace(0, 1 + round, 6).reshape(2, 3))


def twin_in_double(compile: Callable[..., Any], round: int) -> Any:
    return gradient(compile(double_and_add), torch.linspace(-1, round, 12, dtype=torch.float64).reshape(3, 4))
