"""What is written to a part of an expanded tensor is not seen in its other parts."""

from collections.abc import Callable
from typing import Any

import torch


def energy(x: torch.Tensor) -> torch.Tensor:
    return torch.trace(x) ** 2 + (x**2).sum()


def cubed(x: torch.Tensor) -> torch.Tensor:
    return torch.trace(x @ x) + torch.trace(x) ** 3


def diagonal_of_a_number(x: torch.Tensor) -> torch.Tensor:
    return torch.diagonal_scatter(x.sum().expand(3, 3), x * 2)


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(torch.func.hessian(energy))(torch.arange(4.0, dtype=torch.float64).reshape(2, 2) + round)


def twin_of_a_third_power(compile: Callable[..., Any], round: int) -> Any:
    return compile(torch.func.hessian(cubed))(torch.linspace(-1, 1 + round, 9).reshape(3, 3))


def twin_of_a_diagonal(compile: Callable[..., Any], round: int) -> Any:
    return compile(diagonal_of_a_number)(torch.arange(3, dtype=torch.float64) + round + 1)
