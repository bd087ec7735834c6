import torch
from torch import nn

model = nn.Sequential(nn.Linear(20, 20), nn.ReLU(), nn.Dropout(0.3), nn.Linear(20, 4))
compiled = torch.compile(model)
x = torch.randn(8, 20)
torch.manual_seed(7)
reference = model(x)
torch.manual_seed(7)
result = compiled(x)
print(reference[0], result[0])
assert torch.allclose(result, reference, atol=1e-4)
