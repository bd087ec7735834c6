"""NaN stays NaN where a function is called on the inverse of another, in code for a single element."""

from collections.abc import Callable
from typing import Any

import torch

NAN = float("nan")


def sine_of_angle(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(torch.atan(x))


def cosine_of_angle(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(torch.atan(x)) + 1


def sine_of_ratio(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.sin(torch.atan(x * y)) * 2, x - y


def task(compile: Callable[..., Any], round: int) -> Any:
    compiled = compile(sine_of_angle)
    return compiled(torch.full((1,), NAN)), compiled(torch.full((1,), 0.5 + round))


def twin_cosine(compile: Callable[..., Any], round: int) -> Any:
    compiled = compile(cosine_of_angle)
    return compiled(torch.full((1, 1), NAN)), compiled(torch.full((1, 1), 2.0 - round))


def twin_in_double(compile: Callable[..., Any], round: int) -> Any:
    compiled, y = compile(sine_of_ratio), torch.full((), 3.0 + round, dtype=torch.float64)
    return compiled(torch.full((), NAN, dtype=torch.float64), y), compiled(y / 7, y)
