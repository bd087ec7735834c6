"""An absent attribute of a tensor is an AttributeError of the compiled function, which it may catch."""

from collections.abc import Callable
from typing import Any

import torch


def doubled(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.no_such_attribute
    except AttributeError:
        return x * 2


def scale_of(x: torch.Tensor) -> float:
    try:
        return x.scale_that_nobody_gave(3)
    except Exception:
        return 0.5


def scaled(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = y.cos()
    return x.sin() * scale_of(x), y + 1


def weighted(weight: torch.nn.Parameter, x: torch.Tensor) -> torch.Tensor:
    total = x.sum(0)
    for values in (x, weight):
        try:
            total = total + values.bias
        except (KeyError, AttributeError):
            total = total * values.amax()
    return total


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(doubled)(torch.ones(1) + round)


def twin_call_in_another_function(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(-1, 1 + round, 12, dtype=torch.float64).reshape(3, 4)
    return compile(scaled)(x, torch.arange(5.0))


def twin_parameter(compile: Callable[..., Any], round: int) -> Any:
    weight = torch.nn.Parameter(torch.tensor([0.5, 2.0 + round]))
    out = compile(weighted)(weight, torch.arange(6.0).reshape(3, 2))
    out.sum().backward()
    return out.detach(), weight.grad
