"""Empty dimensions that are divided into pieces."""

from collections.abc import Callable
from typing import Any

import torch


def raised(x: torch.Tensor) -> Any:
    return tuple(piece + 1 for piece in torch.unsafe_split(x, 0, 0))


def doubled(x: torch.Tensor) -> Any:
    return tuple(piece * 2 for piece in torch.unsafe_split(x, 0, 1))


def both(x: torch.Tensor, y: torch.Tensor) -> Any:
    return [piece.sin() for piece in torch.unsafe_split(x, 0, 0)] + [piece.cos() for piece in torch.unsafe_split(y, 2)]


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(raised)(torch.empty(0, 3 + round))


def twin_last_dimension(compile: Callable[..., Any], round: int) -> Any:
    return compile(doubled)(torch.empty(2 + round, 0, dtype=torch.float64))


def twin_beside_pieces(compile: Callable[..., Any], round: int) -> Any:
    return compile(both)(torch.empty(0, 4), torch.linspace(0, 1 + round, 10).reshape(5, 2))
