"""A rolled tensor in another memory format has that format, where its memory is read as it lies."""

from collections.abc import Callable
from typing import Any

import torch


def rolled(x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(torch.roll(x, shifts=-1, dims=0), (4, 8), (3, 1), 0)


def rolled_columns(x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(torch.roll(x, shifts=2, dims=3), (3, 7), (9, 2), 4) * 2


def rolled_volume(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.as_strided(torch.roll(x, 1, 2), (5, 6), (7, 1), 1), y + 1


def task(compile: Callable[..., Any], round: int) -> Any:
    x = torch.arange(96).reshape(2, 4, 3, 4) * (round + 1)
    return compile(rolled)(x.to(memory_format=torch.channels_last))


def twin_other_dimension(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(-1, 1 + round, 120, dtype=torch.float64).reshape(2, 3, 4, 5)
    return compile(rolled_columns)(x.to(memory_format=torch.channels_last))


def twin_volume(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(0, 1 + round, 144).reshape(1, 4, 3, 4, 3).to(memory_format=torch.channels_last_3d)
    return compile(rolled_volume)(x, torch.arange(3))
