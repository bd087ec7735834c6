"""Trains on images that a subclass of the tensor tells from masks."""

import torch
from torch import nn


class Image(torch.Tensor):
    pass


torch.manual_seed(0)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile(backend="aot_eager")
def normalized(pixels: torch.Tensor) -> torch.Tensor:
    return torch.abs(Image(pixels)) / 255


for _ in range(2):
    images = normalized(torch.randint(-255, 255, (8, 16)).float())
    loss = model(images.as_subclass(torch.Tensor)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
