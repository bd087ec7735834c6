import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        scores = x.shape[-1] ** 0.5 / (self.query(x) @ self.key(x).transpose(-2, -1))
        return torch.reciprocal(scores.softmax(-1) @ self.value(x))


torch.manual_seed(0)
model = Attention(16).eval()
x = torch.randn(4, 12, 16)
with torch.no_grad():
    single = torch.compile(model)(x)
    double = Attention(16).double()
    double.load_state_dict({name: value.double() for name, value in model.state_dict().items()})
    exact = double(x.double())
error = (single.double() - exact).abs().max().item()
print("largest difference", error)
assert error < 1e-9, f"compiled differs by {error}"
