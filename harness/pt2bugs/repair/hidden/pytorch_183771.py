"""Nearest interpolation keeps the memory format of its input, for every rank and both forms of the size."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import interpolate


def enlarge(x: torch.Tensor) -> torch.Tensor:
    return interpolate(x, size=(5, 6, 7), mode="nearest")


def scale(x: torch.Tensor) -> torch.Tensor:
    return interpolate(x, scale_factor=2, mode="nearest")


def enlarge_exactly(x: torch.Tensor) -> torch.Tensor:
    return interpolate(x, size=(3, 9, 4), mode="nearest-exact")


def task(compile: Callable[..., Any], round: int) -> Any:
    x = torch.arange(120.0).reshape(2, 5, 2, 3, 2).permute(0, 4, 1, 2, 3) * (round + 1) + round
    return compile(enlarge)(x)


def twin_scale_factor(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(-1 - round, 1, 144).reshape(1, 2, 3, 4, 6).to(memory_format=torch.channels_last_3d)
    return compile(scale)(x)


def twin_exact_in_double(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(0, 1 + round, 240, dtype=torch.float64).reshape(2, 2, 3, 4, 5).permute(0, 4, 2, 1, 3)
    return compile(enlarge_exactly)(x), compile(enlarge_exactly)(x.contiguous())


def twin_four_dimensions(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(0, 1 + round, 96).reshape(2, 3, 4, 4).to(memory_format=torch.channels_last)
    return compile(scale)(x)
