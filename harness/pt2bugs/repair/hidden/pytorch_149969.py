"""Equal modules whose forward is a functools.partial share a compilation; those that differ do not."""

import functools
from collections.abc import Callable
from typing import Any

import torch


def linear(module: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.linear(x, module.weight, module.bias)


def scaled(module: torch.nn.Linear, factor: float, x: torch.Tensor) -> torch.Tensor:
    return linear(module, x) * factor


def call(layer: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return layer(x)


def layers(patch: Callable[[torch.nn.Linear], Any], count: int, size: int) -> list[torch.nn.Linear]:
    torch.manual_seed(count)
    made = [torch.nn.Linear(size, size) for _ in range(count)]
    for layer in made:
        layer.forward = patch(layer)
    return made


def task(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(call), torch.ones(3) + round
    return [compiled(layer, x).detach() for layer in layers(lambda layer: functools.partial(linear, layer), 4, 3)]


def twin_nested(compile: Callable[..., Any], round: int) -> Any:
    def patch(layer: torch.nn.Linear) -> Any:
        return functools.partial(functools.partial(scaled, layer), 2.0)

    compiled, x = compile(call), torch.linspace(0, 1 + round, 5)
    return [compiled(layer, x).detach() for layer in layers(patch, 3, 5)]


def twin_other_constants(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(call), torch.arange(4.0) - round
    return [
        compiled(layer, x).detach()
        for factor in (0.5, 3.0)
        for layer in layers(lambda layer, factor=factor: functools.partial(scaled, layer, factor), 2, 4)
    ]
