import torch
from torch.utils._ordered_set import OrderedSet


class Pruner:
    def __init__(self, width):
        self.width = width
        self.dropped = OrderedSet([1, 3])

    def __call__(self, weights, dropped):
        keep = [column for column in range(self.width) if column not in dropped]
        dropped.add(0)
        return weights[:, keep] * (2 if 0 in dropped else 1)


pruner = Pruner(5)
weights = torch.arange(10.0).reshape(2, 5)
expected = pruner(weights, OrderedSet([1, 3]))
print(expected)
compiled = torch.compile(pruner.__call__)
torch.testing.assert_close(compiled(weights, pruner.dropped), expected)
