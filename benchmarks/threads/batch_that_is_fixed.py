import torch
from torch import nn
from torch.export import Dim


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bias", torch.arange(12.0).reshape(3, 4))

    def forward(self, x):
        return (x + self.bias).mean(0)


model = Pooled()
program = torch.export.export(model, (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("batch", max=64)}})
print(program)
