"""Segments volumes in channels-last with a small U-Net."""

import torch
from torch import nn


class UNet(nn.Module):
    def __init__(self, width: int = 4):
        super().__init__()
        self.inside = nn.Conv3d(1, width, 3, padding=1)
        self.down = nn.Conv3d(width, 2 * width, 3, stride=2, padding=1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.out = nn.Conv3d(3 * width, 1, 1)

    def forward(self, x):
        first = self.inside(x).relu()
        second = self.down(first).relu()
        return self.out(torch.cat([first, self.up(second)], dim=1))


torch.manual_seed(0)
model = UNet().to(memory_format=torch.channels_last_3d)
step = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
volumes = torch.rand(2, 1, 4, 8, 8).to(memory_format=torch.channels_last_3d)
masks = (volumes > 0.5).float()
for _ in range(2):
    loss = nn.functional.binary_cross_entropy_with_logits(step(volumes), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
