"""An in-place add of a tensor on meta keeps its destination's device, in fake mode and in one graph."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def add_in_place(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.add_(b)


def add_to_a_row(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a[0].add_(b, alpha=2)
    return a * 3


def fake(compile: Callable[..., Any], function: Callable[..., Any], *values: tuple[Any, ...]) -> Any:
    """Call it in fake mode; without the compiler, which has that mode, on real tensors."""
    with contextlib.nullcontext() if compile(function) is function else FakeTensorMode():
        try:
            out = function(*(torch.ones(shape, dtype=dtype, device=device) for shape, dtype, device in values))
        except RuntimeError as error:
            text = str(error)
            return "refused" if "device" in text and "add_" not in text else text
    return out.device.type, str(out.dtype), list(out.shape)


def task(compile: Callable[..., Any], round: int) -> Any:
    return fake(compile, add_in_place, (3 + round, torch.float32, "cpu"), (3 + round, torch.float32, "meta"))


def twin_in_one_graph(compile: Callable[..., Any], round: int) -> Any:
    a = torch.linspace(0, 1 + round, 12, dtype=torch.float64).reshape(4, 3)
    return compile(add_in_place, fullgraph=True)(a, torch.empty(3, dtype=torch.float64, device="meta")), a


def twin_of_a_view(compile: Callable[..., Any], round: int) -> Any:
    a = torch.arange(8).reshape(2, 4) + round
    return compile(add_to_a_row, fullgraph=True)(a, torch.empty(4, dtype=torch.int64, device="meta"))


def twin_not_out_of_place(compile: Callable[..., Any], round: int) -> Any:
    half, double = torch.float16, torch.float64
    return [
        fake(compile, add_in_place, ((2, 5 + round), half, "cpu"), ((5 + round,), half, "meta")),
        fake(compile, add_in_place, ((3, 1), double, "cpu"), ((1, 1), double, "meta")),
        fake(compile, torch.add, (3, half, "cpu"), (3, half, "meta")),
    ]
