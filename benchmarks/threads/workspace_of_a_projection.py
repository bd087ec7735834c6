import torch
from torch import nn


class Projection(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        hidden = self.linear(x)
        buffer = torch.Tensor(hidden.size())
        buffer.copy_(hidden)
        return buffer * 2


torch.manual_seed(0)
model = Projection(10, 4).requires_grad_(False)
x = torch.randn(2, 10)
reference = model(x)
print(reference.shape)
result = torch.compile(model)(x)
assert result.shape == reference.shape, f"{list(result.shape)} instead of {list(reference.shape)}"
