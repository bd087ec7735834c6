import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, state):
        mean, spread = self.body(state).chunk(2, -1)
        if spread.max() > 0:
            spread = spread.clamp(max=1.0)
        return Normal(mean, spread.exp()).rsample()


policy = torch.compile(Policy(), fullgraph=True)
print(policy(torch.randn(3, 4)))
