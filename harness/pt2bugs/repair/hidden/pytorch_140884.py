"""NumPy's operators under a device context stay NumPy's, and those of tensors stay torch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def at_least_three(x: np.ndarray) -> np.ndarray:
    return x >= 3


def differs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x != y) & (x < 2)


def both(x: np.ndarray, y: torch.Tensor) -> Any:
    return x <= 1.5, y > 0.5


def task(compile: Callable[..., Any], round: int) -> Any:
    with torch.device("cpu"):
        return compile(at_least_three)(np.arange(5) + round).tolist()


def twin_two_arrays(compile: Callable[..., Any], round: int) -> Any:
    with torch.device("cpu"):
        return compile(differs)(np.linspace(0, 3 + round, 6), np.arange(6.0)).tolist()


def twin_beside_a_tensor(compile: Callable[..., Any], round: int) -> Any:
    with torch.device("cpu"):
        flags, above = compile(both)(np.arange(4.0) - round, torch.linspace(0, 1 + round, 5))
    return flags.tolist(), above
