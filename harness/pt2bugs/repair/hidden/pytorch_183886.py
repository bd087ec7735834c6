"""A signal that is asked to be longer than its spectrum gives is filled up with zeros."""

from collections.abc import Callable
from typing import Any

import torch


def signal(spectrum: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
    return torch.istft(spectrum, n_fft=64, hop_length=32, window=window, length=352)


def of_sixteen(spectrum: torch.Tensor) -> torch.Tensor:
    return torch.istft(spectrum, n_fft=16, hop_length=4, window=torch.ones(16, dtype=torch.float64), length=70) * 2


def not_centred(spectrum: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
    return torch.istft(spectrum, n_fft=8, hop_length=2, window=window, center=False, length=40)


def spectrum(round: int, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = torch.Size(shape).numel()
    real = torch.linspace(-1, 1 + round, count, dtype=dtype).sin().reshape(shape)
    return torch.complex(real, real.flip(-1) * 0.5)


def task(compile: Callable[..., Any], round: int) -> Any:
    return compile(signal)(spectrum(round, 1, 33, 10), torch.hann_window(64))


def twin_of_two_in_double(compile: Callable[..., Any], round: int) -> Any:
    return compile(of_sixteen)(spectrum(round, 2, 9, 12, dtype=torch.float64))


def twin_not_centred(compile: Callable[..., Any], round: int) -> Any:
    return compile(not_centred)(spectrum(round, 5, 7), torch.ones(8))
