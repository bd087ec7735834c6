import torch
from torch import nn


class Shuffle(nn.Module):
    def forward(self, image):
        order = torch.randperm(image.numel(), device=image.device)
        return torch.take(image.tanh_(), order)


image = torch.ones(3, 8)
out = torch.compile(Shuffle())(image)
assert out.shape == (24,)
