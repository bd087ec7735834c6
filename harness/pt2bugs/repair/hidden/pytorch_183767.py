"""The inverse hyperbolic sine of large numbers is finite, wherever the vectorized code computes it."""

from collections.abc import Callable
from typing import Any

import torch


def inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.asinh(x)


def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.asinh(x * 4) + y.abs()


def compressed(x: torch.Tensor) -> torch.Tensor:
    return (torch.asinh(x) / 60).sum(dim=0)


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(inverse)(torch.tensor([3e22, 7e25, 8e23, 1e10] * 8) * (1 + round))


def twin_negative_and_small(compile: Callable[..., Any], round: int) -> Any:
    x = torch.tensor([-2e24, 0.5, -1.0, 6e21, 3.0, -4e26, 1e-3, 9e22]).repeat(5, 4) * (1 + round)
    return compile(scaled)(x, torch.linspace(-1, 1, 32))


def twin_reduced_columns(compile: Callable[..., Any], round: int) -> Any:
    return compile(compressed)(torch.linspace(1e21, 5e25, 64).reshape(2, 32) + round * 1e24)
