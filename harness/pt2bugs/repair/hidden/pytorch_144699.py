"""A tensor filled like another has the order of its strides, with another type as well."""

from collections.abc import Callable
from typing import Any

import torch


def filled(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, 3)


def of_another_type(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.full_like(x, 2.5, dtype=torch.float64), x + 1


def of_a_slice(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x[:, 1:], -1) * 2


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(filled)(torch.full((4, 5, 6), float(round)).transpose(1, 2))


def twin_of_another_type(compile: Callable[..., Any], round: int) -> Any:
    return compile(of_another_type)((torch.arange(120) + round).reshape(2, 3, 4, 5).permute(3, 0, 2, 1))


def twin_of_a_slice(compile: Callable[..., Any], round: int) -> Any:
    return compile(of_a_slice)((torch.arange(20, dtype=torch.int32) - round).reshape(4, 5).t())
