"""A magnitude keeps its small unsigned type: what is computed of it in the same kernel wraps as eager does."""

from collections.abc import Callable
from typing import Any

import torch


def total(x: torch.Tensor) -> torch.Tensor:
    y = -x.abs()
    return torch.cat([y, y]).sum()


def as_floats(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (-x.abs()).float() * scale


def above(x: torch.Tensor) -> torch.Tensor:
    return torch.where(-x.abs() > 50, 1.5, x.float())


def chosen(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return (-x.abs())[rows].long() * 2


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(total)(torch.tensor([200 + round, 201, 7], dtype=torch.uint8))


def twin_as_floats(compile: Callable[..., Any], round: int) -> Any:
    x = torch.tensor([[3, 250 - round], [128, 1], [99, 255]], dtype=torch.uint8)
    return compile(as_floats)(x, torch.linspace(0.5, 1.5, 2))


def twin_compared(compile: Callable[..., Any], round: int) -> Any:
    return compile(above)(torch.tensor([3, 250 - round, 128, 1, 99, 255], dtype=torch.uint8))


def twin_chosen_rows(compile: Callable[..., Any], round: int) -> Any:
    x = torch.tensor([[3, 250 - round], [128, 1], [99, 255]], dtype=torch.uint8)
    return compile(chosen)(x, torch.tensor([2, 0, 0, 1]))
