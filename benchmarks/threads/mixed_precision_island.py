import torch
from torch import nn


class Island(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 144).reshape(12, 12))

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return x.float() @ self.weight.t()


def gradient_of(model, call, x):
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = call(x)
    (out * torch.linspace(0, 1, out.numel()).view_as(out)).sum().backward()
    return model.weight.grad.clone()


model = Island()
x = torch.linspace(0, 3, 60).reshape(5, 12)
want = gradient_of(model, model, x)
have = gradient_of(model, torch.compile(model), x)
torch.testing.assert_close(have, want, rtol=0, atol=1e-6)
