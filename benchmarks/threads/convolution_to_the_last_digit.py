import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.SiLU(), nn.Conv2d(8, 2, 1)).eval()
x = torch.randn(2, 4, 48, 48)
with torch.no_grad():
    reference, result = model(x), torch.compile(model)(x)
difference = (reference - result).abs().max().item()
print("difference", difference)
assert torch.equal(reference, result), f"compiled differs by {difference}"
