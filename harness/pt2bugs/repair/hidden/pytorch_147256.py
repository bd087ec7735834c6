"""A layer norm of complex numbers is refused by compiled code as by eager; of real numbers there is one."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import layer_norm


def refused(function: Callable[..., Any], *values: torch.Tensor) -> Any:
    try:
        return function(*values)
    except Exception as error:
        text = str(error).lower()
        return "refused" if "complex" in text or "mixed dtype" in text else text


def last_two(x: torch.Tensor) -> torch.Tensor:
    return layer_norm(x * 2, x.shape[-2:])


def scaled(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return layer_norm(x, (3,), weight) + 1


def task(compile: Callable[..., Any], round: int) -> Any:
    module = torch.nn.LayerNorm([4])
    compiled = compile(lambda x: module(x))
    with torch.no_grad():
        return compiled(torch.arange(4.0) * (round + 1)), refused(compiled, torch.arange(4.0) + 1j + round)


def twin_two_dimensions(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(last_two), torch.linspace(-1, 1 + round, 24, dtype=torch.float64).reshape(2, 3, 4)
    return compiled(x), refused(compiled, torch.complex(x, x + 1))


def twin_complex_weight(compile: Callable[..., Any], round: int) -> Any:
    compiled, x, weight = compile(scaled), torch.arange(6.0).reshape(2, 3) - round, torch.linspace(1, 2, 3)
    return compiled(x, weight), refused(compiled, x * 1j, weight + 0j)
