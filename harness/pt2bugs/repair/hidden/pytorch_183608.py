"""An embedding has no negative rows: compiled code refuses them as eager does, and reads valid ones."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import embedding


def lookup(rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return embedding(rows, table)


def scaled(rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return embedding(rows, table) * 2 + 1


def refused(function: Callable[..., Any], rows: torch.Tensor, table: torch.Tensor) -> Any:
    try:
        result = function(rows, table)
    except (IndexError, RuntimeError) as error:
        text = str(error)
        return "refused" if "out of range" in text or "out of bounds" in text else text
    return result


def task(compile: Callable[..., Any], round: int) -> Any:
    function, table = compile(lookup), torch.arange(12.0).reshape(4, 3) + round
    return function(torch.tensor([1, 3 - round]), table), refused(function, torch.tensor([1, -3 + round]), table)


def twin_two_dimensions(compile: Callable[..., Any], round: int) -> Any:
    function, table = compile(scaled), torch.linspace(0, 1, 35, dtype=torch.float64).reshape(7, 5) * (round + 1)
    rows = torch.tensor([[0, 6, 2], [5, 1, -1 - round]])
    return function(rows.abs(), table), refused(function, rows, table)


def twin_short_rows(compile: Callable[..., Any], round: int) -> Any:
    function, table = compile(lookup), torch.arange(40.0).reshape(10, 4) - round
    rows = torch.tensor([9, 0, 4, 4], dtype=torch.int32)
    return function(rows, table), refused(function, rows - 5 - round, table)


def twin_past_the_end(compile: Callable[..., Any], round: int) -> Any:
    function, table = compile(scaled), torch.arange(12.0).reshape(4, 3)
    return function(torch.tensor([3, 0]), table), refused(function, torch.tensor([4 + round, 0]), table)
