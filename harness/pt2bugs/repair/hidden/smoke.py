"""Operators outside the compiler, which a patch of it leaves alone."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional


def smoke_operators(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(-1, 1 + round, 24).reshape(2, 3, 4)
    return {
        "matmul": x @ x.transpose(1, 2),
        "norm": functional.layer_norm(x, (4,)),
        "softmax": x.softmax(-1),
        "sort": x.sort(descending=True),
        "interpolate": functional.interpolate(x, scale_factor=2),
        "index": x[:, [0, 2], ::2],
        "where": torch.where(x > 0, x, -x),
        "cumsum": x.cumsum(1),
        "einsum": torch.einsum("bij,bkj->bik", x, x),
        "embedding": functional.embedding(torch.tensor([1, 0]), x[0]),
        "integers": torch.arange(12).reshape(3, 4) // 5,
        "complex": torch.fft.rfft(x).abs(),
    }


def smoke_gradients(compile: Callable[..., Any], round: int) -> Any:
    layer = torch.nn.Sequential(torch.nn.Conv1d(3, 4, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(12, 2))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.linspace(0, 1 + round, 24).reshape(2, 3, 4)).square().sum().backward()
    optimizer.step()
    return [parameter.detach() for parameter in layer.parameters()]


def smoke_vmap(compile: Callable[..., Any], round: int) -> Any:
    x = torch.linspace(0, 1 + round, 6).reshape(2, 3)
    return torch.vmap(torch.func.grad(lambda row: (row**3).sum()))(x), torch.func.jacrev(torch.sin)(x)
