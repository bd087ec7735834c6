import torch
from torch import nn


class Ring(nn.Module):
    def forward(self, history, frames):
        updated = torch.slice_scatter(history, frames[:2], dim=0, start=1, end=3)
        history.zero_()
        return updated


ring = Ring()
frames = torch.arange(100, 115).reshape(3, 5)
plain = ring(torch.arange(20).reshape(4, 5), frames)
fast = torch.compile(ring)(torch.arange(20).reshape(4, 5), frames)
print(plain, fast, sep="\n")
if not torch.equal(plain, fast):
    raise RuntimeError("the compiled ring lost its history")
