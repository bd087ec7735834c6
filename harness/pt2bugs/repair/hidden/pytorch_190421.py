"""An infinite constant is converted to an integer as eager converts it."""

from collections.abc import Callable
from typing import Any

import torch


def total() -> torch.Tensor:
    return torch.sum(torch.log(torch.full((1,), 0.0)), dtype=torch.int32)


def lowest(x: torch.Tensor) -> torch.Tensor:
    return torch.sum(torch.log(torch.zeros(3, 1)), 1, dtype=torch.int64) + x


def logarithm(x: torch.Tensor) -> torch.Tensor:
    return torch.sum(torch.log2(torch.zeros(1, dtype=torch.float64)), dtype=torch.int32).clamp(min=-5) * x


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(total)()


def twin_of_64_bits(compile: Callable[..., Any], round: int) -> Any:
    return compile(lowest)(torch.arange(3) + round)


def twin_clamped(compile: Callable[..., Any], round: int) -> Any:
    return compile(logarithm)(torch.arange(8, dtype=torch.int32).reshape(2, 4) - round)
