import torch
from torch import nn


class Checksum(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def forward(self, data):
        complement = -data.abs()
        parts = [complement for _ in range(self.blocks)]
        return torch.cat(parts).sum()


packet = torch.tensor([17, 250, 128, 3, 99], dtype=torch.uint8)
model = Checksum(3)
want = int(model(packet))
have = int(torch.compile(model)(packet))
print("checksum", want)
if have != want:
    raise SystemExit(f"compiled checksum is {have}")
