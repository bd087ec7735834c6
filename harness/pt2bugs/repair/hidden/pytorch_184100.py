"""Gradients of complex tensors that are multiplied by Python's complex numbers."""

from collections.abc import Callable
from typing import Any

import torch


def rotated(z: torch.Tensor) -> torch.Tensor:
    return (z * 1j).abs().sum()


def scaled(z: torch.Tensor) -> torch.Tensor:
    return (z * (0.5 - 2j)).real.square().sum()


def twice(z: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (z * 2j + w * (1 + 1j)).abs().square().mean()


def task(compile: Callable[..., Any], round: int) -> Any:
    z = torch.tensor([3 + 4j, -6 + 8j * (round + 1)], requires_grad=True)
    compile(rotated)(z).backward()
    return z.grad


def twin_in_double(compile: Callable[..., Any], round: int) -> Any:
    z = torch.complex(torch.linspace(-1, 1 + round, 12, dtype=torch.float64), torch.ones(12, dtype=torch.float64))
    z = z.reshape(3, 4).requires_grad_()
    compile(scaled)(z).backward()
    return z.grad


def twin_two_inputs(compile: Callable[..., Any], round: int) -> Any:
    z = torch.complex(torch.arange(5.0), torch.arange(5.0) - round).requires_grad_()
    w = torch.complex(torch.ones(5), torch.linspace(0, 1 + round, 5)).requires_grad_()
    result = compile(twice)(z, w)
    result.backward()
    return result.detach(), z.grad, w.grad
