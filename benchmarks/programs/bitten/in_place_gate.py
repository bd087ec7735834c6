"""Trains through a gate that overwrites its input, with a gradient of its own."""

import torch
from torch import nn


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.outside = nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, x):
        hidden = self.inside(x)
        Gate.apply(hidden)
        return self.outside(hidden)


torch.manual_seed(0)
model = Gated()
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, target = torch.rand(8, 6), torch.rand(8, 1)
for _ in range(3):
    loss = nn.functional.mse_loss(compiled(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.5f}")
