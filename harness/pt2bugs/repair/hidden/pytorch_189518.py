"""The running sum of a filled tensor has the type that was asked for, and values of that type."""

from collections.abc import Callable
from typing import Any

import torch


def positions(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    steps = torch.ones((3, 5), dtype=torch.bool).cumsum(1, dtype=torch.bfloat16)
    return steps, steps + x


def doubles(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    steps = torch.full((4, 3), 2).cumsum(1, dtype=torch.float64)
    return steps, steps * x


def whole(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    steps = torch.full((2, 2, 6), 2.5).cumsum(-1, dtype=torch.int32)
    return steps, steps[0] + x


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(positions)(torch.zeros(1, dtype=torch.bfloat16) + round)


def twin_of_integers(compile: Callable[..., Any], round: int) -> Any:
    return compile(doubles)(torch.linspace(0, 1 + round, 3, dtype=torch.float64))


def twin_of_fractions(compile: Callable[..., Any], round: int) -> Any:
    return compile(whole)(torch.arange(12, dtype=torch.int32).reshape(2, 6) - round)
