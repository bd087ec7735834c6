"""Splits the requests of a server into shards; at night there are none."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)


@torch.compile
def shards(requests: torch.Tensor, size: int):
    return [model(shard).sigmoid() for shard in torch.unsafe_split(requests, size, 0)]


with torch.no_grad():
    for count in (6, 0):
        requests = torch.rand(count, 4)
        print([tuple(shard.shape) for shard in shards(requests, count // 2)])
