"""What is given another name and not used is not guarded, whatever it is."""

from collections.abc import Callable
from typing import Any

import torch


def double(x: torch.Tensor, unused: Any) -> torch.Tensor:
    alias = unused  # noqa: F841
    return x * 2


def of_two(x: torch.Tensor, first: Any, second: Any) -> torch.Tensor:
    kept = first
    other = second  # noqa: F841
    again = kept  # noqa: F841
    return x.sin() + 1


def task(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(double, dynamic=False), torch.ones(2) + round
    return [compiled(x, torch.ones(size)) for size in (3, 5)]


def twin_of_other_types(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(double, dynamic=False), torch.arange(6).reshape(2, 3) - round
    return [compiled(x, torch.ones(2, 2, dtype=dtype)) for dtype in (torch.float64, torch.int32, torch.bool)]


def twin_of_no_tensors(compile: Callable[..., Any], round: int) -> Any:
    compiled, x = compile(of_two, dynamic=False), torch.linspace(0, 1 + round, 5, dtype=torch.float64)
    return [compiled(x, first, second) for first, second in ((1, "a"), (2, "b"), (3, "c"))]
