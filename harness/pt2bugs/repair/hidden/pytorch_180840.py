"""A tensor subclass with a constructor of its own is made in compiled code, which is one graph."""

from collections.abc import Callable
from typing import Any

import torch


class Wrapped(torch.Tensor):
    def __new__(cls, data: torch.Tensor):
        return super().__new__(cls, data)


class Doubled(torch.Tensor):
    def __new__(cls, data: torch.Tensor):
        return super().__new__(cls, data * 2)


def increment(x: torch.Tensor) -> torch.Tensor:
    return Wrapped(x) + 1


def less(x: torch.Tensor) -> torch.Tensor:
    return Doubled(x).sin() - 1


def sums(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return Wrapped(x).sum(0), Doubled(y.cos()).mean()


def plain(value: Any) -> Any:
    return tuple(map(plain, value)) if isinstance(value, tuple) else value.as_subclass(torch.Tensor)


def task(compile: Callable[..., Any], round: int) -> Any:
    return plain(compile(increment, fullgraph=True)(torch.ones(2) + round))


def twin_changed_before(compile: Callable[..., Any], round: int) -> Any:
    return plain(compile(less, fullgraph=True)(torch.linspace(0, 1 + round, 6, dtype=torch.float64).reshape(2, 3)))


def twin_two_classes(compile: Callable[..., Any], round: int) -> Any:
    return plain(compile(sums, fullgraph=True)(torch.ones(3, 2) * (round + 1), torch.arange(4.0) - round))
