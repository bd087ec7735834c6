"""Tensors of random numbers are made on the default device in compiled code, where others are there already."""

from collections.abc import Callable
from typing import Any

import torch


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x * torch.randn(1)


def uniform(x: torch.Tensor, size: int) -> torch.Tensor:
    return torch.rand(size, 3) + x


def permuted(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.t() + torch.randperm(4), torch.randint(0, 9, (2, 5)) / x.sum()


def about(value: Any) -> Any:
    if isinstance(value, tuple):
        return [about(item) for item in value]
    return value.device.type, str(value.dtype), list(value.shape)


def task(compile: Callable[..., Any], round: int) -> Any:
    torch.set_default_device("meta")
    try:
        return about(compile(noisy)(torch.ones(1 + round)))
    finally:
        torch.set_default_device(None)


def twin_uniform(compile: Callable[..., Any], round: int) -> Any:
    torch.set_default_device("meta")
    try:
        return about(compile(uniform)(torch.ones(3, dtype=torch.float64), 2 + round))
    finally:
        torch.set_default_device(None)


def twin_in_a_block(compile: Callable[..., Any], round: int) -> Any:
    with torch.device("meta"):
        return about(compile(permuted)(torch.empty(4, 2 + round)))
