"""An alpha of zero, by which celu would divide, is refused by compiled code as by eager; another is computed."""

from collections.abc import Callable
from typing import Any

import torch


def in_place(x: torch.Tensor, alpha: float) -> torch.Tensor:
    return torch.celu_(x, alpha)


def out_of_place(x: torch.Tensor, alpha: float) -> torch.Tensor:
    return torch.nn.functional.celu(x, alpha=alpha) + 1


def of_a_column(x: torch.Tensor, alpha: float) -> torch.Tensor:
    return torch.celu(x.sin(), alpha=alpha).t()


def refused(function: Callable[..., Any], *values: Any) -> Any:
    try:
        return function(*values)
    except Exception as error:
        text = str(error)
        return "refused" if "alpha cannot be 0" in text else text


def task(compile: Callable[..., Any], round: int) -> Any:
    compiled = compile(in_place, dynamic=False)
    return compiled(torch.ones(2) + round, 1.0), refused(compiled, torch.tensor([-1.0 - round, 1.0]), 0.0)


def twin_out_of_place(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(out_of_place, dynamic=False), torch.linspace(-1 - round, 1, 12, dtype=torch.float64)
    return compiled(x, 0.5), refused(compiled, x.reshape(3, 4), 0.0)


def twin_of_two_dimensions(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(of_a_column, dynamic=False), (torch.arange(15.0) - 7 - round).reshape(5, 3).bfloat16()
    return compiled(x.t(), 2.0), refused(compiled, x, 0.0)
