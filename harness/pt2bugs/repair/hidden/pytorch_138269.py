"""An empty out tensor is resized and filled by compiled code, which is one graph."""

from collections.abc import Callable
from typing import Any

import torch


def add_into(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.add(a, b, out=out)


def product_into(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.mul(a + 1, b, out=out)


def cosine_into(a: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    torch.cos(a, out=out)
    return a * 2


def task(compile: Callable[..., Any], round: int) -> Any:
    a, b, out = torch.ones(3) + round, torch.ones(3), torch.empty(0)
    compile(add_into, fullgraph=True)(a, b, out)
    return out


def twin_product(compile: Callable[..., Any], round: int) -> Any:
    a, b, out = torch.arange(5) + round, torch.arange(5), torch.empty(0, dtype=torch.int64)
    compile(product_into, fullgraph=True)(a, b, out)
    return out


def twin_double(compile: Callable[..., Any], round: int) -> Any:
    a, out = torch.linspace(-1 - round, 1, 4, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    doubled = compile(cosine_into, fullgraph=True)(a, out)
    return doubled, out
