import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        hidden = torch.relu(self.project(x))
        hidden.copy_(x)
        return self.norm(hidden)


torch.manual_seed(0)
gate = Gate(6)
sample = torch.randn(4, 6)
plain = gate(sample)
print("eager mean", plain.mean().item())
compiled = torch.compile(gate)
print("compiled mean", compiled(sample).mean().item())
