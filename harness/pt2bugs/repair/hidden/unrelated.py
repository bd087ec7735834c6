"""Ten programs that have nothing to do with any task: a patch leaves their results, graphs and kernels as they are."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional


def unrelated_pointwise(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x.sin() + y.exp()).relu() * 2

    return compile(function)(torch.linspace(-1, 1, 24).reshape(4, 6) + round, torch.ones(6))


def unrelated_reduction(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"mean": x.mean(dim=1), "largest": x.amax(dim=0), "softmax": x.softmax(dim=-1)}

    return compile(function)(torch.linspace(0, 1 + round, 40).reshape(5, 8))


def unrelated_linear(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return functional.gelu(functional.linear(x, weight, bias))

    x = torch.linspace(-1, 1 + round, 24).reshape(4, 6)
    return compile(function)(x, torch.linspace(0, 1, 18).reshape(3, 6), torch.ones(3))


def unrelated_norm(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (8,)) + functional.silu(x)

    return compile(function)(torch.linspace(0, 3 + round, 32).reshape(4, 8))


def unrelated_gradient(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.tanh() * x).sum()

    x = (torch.linspace(-1, 1, 12) * (round + 1)).requires_grad_()
    compile(function)(x).backward()
    return x.grad


def unrelated_views(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, b = x.t().chunk(2)
        return torch.cat([b, a]), x[::2, 1:], x.flatten().unsqueeze(0)

    return compile(function)(torch.arange(24.0).reshape(4, 6) + round)


def unrelated_mutation(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        x[0] = 0
        return x * 2

    x = torch.arange(6.0).reshape(3, 2) * (round + 1)
    return compile(function)(x), x


def unrelated_integers(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, x // 3, x % 5) << 1

    x = torch.arange(20) + round
    return compile(function)(x, x % 2 == 0)


def unrelated_control(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor, scales: list[float]) -> torch.Tensor:
        for index, scale in enumerate(scales):
            x = x * scale if index % 2 else x + scale
        return x.half().float()

    return compile(function)(torch.linspace(0, 1 + round, 9), [0.5, 2.0, 1.5])


def unrelated_break(compile: Callable[..., Any], round: int) -> Any:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.cos()
        if y.sum() > 0:
            return y * 2
        return y - 1

    return compile(function)(torch.linspace(0, 1, 8) + round * 2)
