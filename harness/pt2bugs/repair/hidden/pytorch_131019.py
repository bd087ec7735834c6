"""Random numbers of an interval whose lower bound is the keyword `from`, a word of Python."""

from collections.abc import Callable
from typing import Any

import torch


def uniform(x: torch.Tensor, args: list[int], kwargs: dict[str, int]) -> torch.Tensor:
    return (x + 1).uniform_(*args, **kwargs)


def integers(x: torch.Tensor, args: list[int], kwargs: dict[str, int]) -> torch.Tensor:
    return (x * 2).random_(*args, **kwargs) - 1


def within(
    x: torch.Tensor, y: torch.Tensor, args: list[float], kwargs: dict[str, float]
) -> tuple[torch.Tensor, torch.Tensor]:
    y = y.cos()
    x[1:].uniform_(*args, **kwargs)
    return x * 2, y + x.sum()


def task(compile: Callable[..., Any], round: int) -> Any:
    torch.manual_seed(round)
    return compile(uniform)(torch.zeros(8), [], {"from": 2 + round, "to": 3 + round})


def twin_integers(compile: Callable[..., Any], round: int) -> Any:
    torch.manual_seed(7 + round)
    return compile(integers)(torch.zeros(3, 4, dtype=torch.int64), [], {"from": -5, "to": 5 + round})


def twin_of_a_view(compile: Callable[..., Any], round: int) -> Any:
    torch.manual_seed(3 + round)
    x, y = torch.zeros(3, 2, dtype=torch.float64), torch.linspace(0, 1, 3, dtype=torch.float64)
    return compile(within)(x, y, [], {"to": 0.5, "from": -1.5 - round}), x
