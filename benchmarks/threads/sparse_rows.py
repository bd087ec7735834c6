import functools

import torch
from torch import nn
from torch._dynamo import compiled_autograd

torch.manual_seed(0)
table = nn.Embedding(10, 3, sparse=True)
compiler = functools.partial(torch.compile, backend="aot_eager")
for batch in (torch.tensor([4, 4, 7]), torch.tensor([0]), torch.tensor([9, 1])):
    loss = table(batch).pow(2).sum()
    with compiled_autograd._enable(compiler):
        loss.backward()
    print(batch.tolist(), loss.item())
print(table.weight.grad.coalesce().indices())
