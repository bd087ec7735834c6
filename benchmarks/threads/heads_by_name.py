import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, width, sizes):
        super().__init__()
        self.trunk = nn.Linear(width, width)
        self.heads = nn.ModuleDict({f"head{n + 1}": nn.Linear(width, size) for n, size in enumerate(sizes)})

    def forward(self, features, tasks):
        features = torch.relu(self.trunk(features))
        return [self.heads[f"head{task.item() + 1}"](features) for task in tasks]


model = Router(8, (4, 2)).eval()
features = torch.randn(3, 8)
tasks = torch.tensor([1, 0])
print([tuple(part.shape) for part in model(features, tasks)])
program = torch.export.export(model, (features, tasks))
print(program)
