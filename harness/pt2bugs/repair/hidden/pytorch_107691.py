"""zip goes through objects of the user's classes in one graph, by what their __iter__ gives."""

from collections.abc import Callable, Iterator
from typing import Any

import torch


class Items:
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Halves:
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[float]:
        return iter([number / 2 for number in range(self.count)])


def combined(x: torch.Tensor, items: Items) -> torch.Tensor:
    for a, b in zip([1, 2], items, strict=False):
        x = x * a + b
    return x


def of_two_objects(x: torch.Tensor, items: Items, halves: Halves) -> torch.Tensor:
    for item, half in zip(items, halves, strict=False):
        x = x + item * half
    return x


def of_three(x: torch.Tensor, items: Items) -> list[torch.Tensor]:
    return [x[index] + item * factor for index, item, factor in zip(range(3), items, (1, -1, 2), strict=False)]


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(combined, fullgraph=True)(torch.ones(2) + round, Items([3, 4]))


def twin_of_two_objects(compile: Callable[..., Any], round: int) -> Any:
    items = Items([torch.arange(6.0).reshape(2, 3) + round, torch.ones(3), torch.full((2, 1), 4.0)])
    return compile(of_two_objects, fullgraph=True)(torch.zeros(2, 3), items, Halves(3))


def twin_of_three(compile: Callable[..., Any], round: int) -> Any:
    return compile(of_three, fullgraph=True)(torch.arange(12).reshape(3, 4) - round, Items([5, 6, 7]))
