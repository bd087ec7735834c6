from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class CompilerOptions:
    max_autotune: bool = False
    epilogue_fusion: bool = True


model = nn.Sequential(nn.Linear(4, 8), nn.GELU())
compiled = torch.compile(model, options=CompilerOptions())
print(compiled(torch.ones(2, 4)).shape)
