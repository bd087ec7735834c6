"""What is computed with and without a gradient is two outputs, of which one needs a gradient."""

from collections.abc import Callable
from typing import Any

import torch


def sums(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        first = x + 1
    return first, x + 1


def sines(x: torch.Tensor) -> dict[str, torch.Tensor]:
    trained = torch.sin(x)
    with torch.no_grad():
        return {"trained": trained, "constant": torch.sin(x)}


def products(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    with torch.no_grad():
        constant = (x @ y) * 2
    return [constant, (x @ y) * 2, y - x]


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(sums)((torch.ones(4) + round).requires_grad_())


def twin_no_gradient_comes_second(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(-1, 1 + round, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()
    out = compile(sines)(x)
    out["trained"].sum().backward()
    return out, x.grad


def twin_two_operators(compile: Callable[..., Any], round: int) -> Any:
    x, y = torch.linspace(0, 1 + round, 9).reshape(3, 3).requires_grad_(), torch.eye(3) - round
    out = compile(products)(x, y)
    (out[1] * torch.arange(3.0)).sum().backward()
    return [value.detach() for value in out], [value.requires_grad for value in out], x.grad
