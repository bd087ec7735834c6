"""A permutation of another length than the rows is an index too: of a flat view, and by take."""

from collections.abc import Callable
from typing import Any

import torch


def pick(x: torch.Tensor) -> torch.Tensor:
    return torch.take(x.sigmoid_(), torch.randperm(10))


def pick_all(x: torch.Tensor) -> torch.Tensor:
    return torch.take(x * 3, torch.randperm(24)).sum()


def of_a_flat_view(x: torch.Tensor) -> torch.Tensor:
    return x.cos().flatten()[torch.randperm(6)] + 1


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(pick)(torch.full((4, 32), 0.25 + round))


def twin_of_all_positions(compile: Callable[..., Any], round: int) -> Any:
    return compile(pick_all)(torch.arange(24).reshape(2, 3, 4) - round)


def twin_of_a_flat_view(compile: Callable[..., Any], round: int) -> Any:
    return compile(of_a_flat_view)(torch.full((3, 5), 0.5 + round, dtype=torch.float64))
