"""Sequences of several types are padded to a batch of the first one's type."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence


def batched(sequences: list[torch.Tensor]) -> torch.Tensor:
    return pad_sequence(sequences, padding_value=-0.5)


def rows_first(sequences: list[torch.Tensor]) -> torch.Tensor:
    return pad_sequence(sequences, batch_first=True, padding_value=0.25) * 2


def by_a_fraction(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return pad_sequence([x + 1, y, x[:1]], padding_value=2.75)


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(batched)([torch.tensor([0.25, 0.5 + round]), torch.tensor([7 - round], dtype=torch.int32)])


def twin_rows_of_three(compile: Callable[..., Any], round: int) -> Any:
    first = torch.linspace(0, 1 + round, 12, dtype=torch.float64).reshape(4, 3)
    return compile(rows_first)([first, torch.arange(6).reshape(2, 3) - round, torch.tensor([[True, False, True]])])


def twin_bytes_beside_halves(compile: Callable[..., Any], round: int) -> Any:
    x = torch.arange(5, dtype=torch.float16) + round
    return compile(by_a_fraction)(x, torch.tensor([3, 250 - round], dtype=torch.uint8))
