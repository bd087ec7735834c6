"""Exports a model for any batch, saves and loads it, and compiles what was loaded."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.SiLU(), nn.Linear(16, 2)).eval()
program = torch.export.export(
    model, (torch.rand(4, 8),), dynamic_shapes={"input": {0: torch.export.Dim("batch", min=2, max=64)}}
)
torch.export.save(program, "model.pt2")
compiled = torch.compile(torch.export.load("model.pt2").module())
with torch.no_grad():
    for batch in (4, 6):
        print(f"sum {compiled(torch.rand(batch, 8)).sum().item():.4f}")
