"""An out tensor in a dense memory format is written to in one graph, and keeps its strides."""

from collections.abc import Callable
from typing import Any

import torch


def doubled(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.add(x, x, out=out)
    return out


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x, memory_format=torch.channels_last_3d)
    torch.mul(x, y, out=out)
    return out + 1


def cosine(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    out = torch.empty_like(x, memory_format=torch.channels_last)
    torch.cos(x, out=out)
    return out, out.sum(1)


def task(compile: Callable[..., Any], round: int) -> Any:
    x = torch.full((2, 2, 2, 3), 1.0 + round, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    return compile(doubled, fullgraph=True)(x)


def twin_five_dimensions(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(0, 1 + round, 144, dtype=torch.float64).reshape(1, 2, 3, 4, 6)
    return compile(product, fullgraph=True)(x.to(memory_format=torch.channels_last_3d), x + 1)


def twin_of_a_row_major_input(compile: Callable[..., Any], round: int) -> Any:
    return compile(cosine, fullgraph=True)(torch.linspace(-1 - round, 1, 60).reshape(1, 3, 4, 5))
