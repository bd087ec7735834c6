"""A tensor subclass without members of its own is constructed in compiled code."""

from collections.abc import Callable
from typing import Any

import torch


class Marked(torch.Tensor):
    pass


class Labelled(torch.Tensor):
    pass


def magnitude(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.abs(Marked(x)), x + 1


def half(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(Labelled(x)) * 0.5


def first_of_both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return Marked(x)[0] + 1, Labelled(y).sum()


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(magnitude)(torch.tensor([-1.0 - round, 2.0]))


def twin_other_class(compile: Callable[..., Any], round: int) -> Any:
    return compile(half)(torch.linspace(0, 1 + round, 12, dtype=torch.float64).reshape(3, 4))


def twin_two_classes(compile: Callable[..., Any], round: int) -> Any:
    return compile(first_of_both)(torch.ones(2, 3) * (round + 2), torch.arange(4.0) - round)
