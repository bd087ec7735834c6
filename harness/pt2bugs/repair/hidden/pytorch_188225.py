"""The largest of constants that are no numbers is no number, as is the smallest."""

from collections.abc import Callable
from typing import Any

import torch


def undefined() -> torch.Tensor:
    ones = torch.ones(2, 2)
    return torch.softmax(torch.arccosh(torch.log2(torch.atan2(ones, ones))), 1)


def smallest(x: torch.Tensor) -> torch.Tensor:
    return torch.full((2, 3), -1.0, dtype=torch.float64).log().amin(1) + x


def largest(x: torch.Tensor) -> torch.Tensor:
    return torch.full((3, 4), -2.0).sqrt().amax(0) * x


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(undefined)()


def twin_smallest(compile: Callable[..., Any], round: int) -> Any:
    return compile(smallest)(torch.arange(2, dtype=torch.float64) + round)


def twin_largest(compile: Callable[..., Any], round: int) -> Any:
    return compile(largest)(torch.arange(4.0) - round)
