"""An index by a whole permutation compiles, and no row is lost."""

from collections.abc import Callable
from typing import Any

import torch


def shuffled(x: torch.Tensor) -> torch.Tensor:
    return x[torch.randperm(x.shape[0])]


def doubled_and_shuffled(x: torch.Tensor) -> torch.Tensor:
    return (x * 2)[torch.randperm(x.shape[0])].sum(0)


def shuffled_with_index(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    index = torch.randperm(x.shape[0])
    return x[index], index


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(shuffled)(torch.arange(4.0) + round).sort().values


def twin_of_a_sum(compile: Callable[..., Any], round: int) -> Any:
    return compile(doubled_and_shuffled)(torch.arange(20).reshape(5, 4) + round)


def twin_with_its_index(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(-1, 1 + round, 42, dtype=torch.float64).reshape(7, 2, 3).transpose(1, 2)
    rows, index = compile(shuffled_with_index)(x)
    return torch.equal(rows, x[index]), index.sort().values
