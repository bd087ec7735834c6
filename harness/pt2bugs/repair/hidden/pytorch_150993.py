"""A batched product of two types is refused by compiled code as by eager; of one type it is computed."""

from collections.abc import Callable
from typing import Any

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def batched(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.bmm(a + 1, b)


def summed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.einsum("bij,bkj->bik", a, b) * 2


def refused(function: Callable[..., Any], *values: torch.Tensor) -> Any:
    try:
        return function(*values)
    except Exception as error:
        text = str(error)
        return "refused" if "dtype" in text or "scalar type" in text else text


def task(compile: Callable[..., Any], round: int) -> Any:
    compiled, a, b = compile(product), torch.ones(2, 3, 4) + round, torch.ones(2, 4, 3)
    return compiled(a, b), refused(compiled, a.half(), b)


def twin_float_times_double(compile: Callable[..., Any], round: int) -> Any:
    compiled, a = compile(batched), torch.linspace(0, 1 + round, 20).reshape(2, 2, 5)
    b = torch.arange(10.0).reshape(2, 5, 1)
    return compiled(a, b), refused(compiled, a, b.double())


def twin_four_dimensions(compile: Callable[..., Any], round: int) -> Any:
    compiled, a = compile(product), torch.arange(24.0).reshape(2, 1, 3, 4) - round
    b = torch.linspace(-1, 1, 16).reshape(2, 1, 4, 2)
    return compiled(a, b), refused(compiled, a, b.bfloat16())


def twin_of_a_transposed_matrix(compile: Callable[..., Any], round: int) -> Any:
    compiled, a = compile(summed), torch.arange(18.0).reshape(3, 2, 3) + round
    b = torch.linspace(0, 1, 36).reshape(3, 4, 3)
    return compiled(a, b), refused(compiled, a.double(), b)
