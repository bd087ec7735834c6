"""Trains with DistributedDataParallel on gloo, in one process."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
model = DistributedDataParallel(torch.compile(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, labels = torch.rand(8, 16), torch.arange(8) % 4
for _ in range(2):
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
dist.destroy_process_group()
