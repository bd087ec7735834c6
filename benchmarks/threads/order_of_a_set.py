import torch
from torch.utils._ordered_set import OrderedSet


def schedule(x, first):
    ready = OrderedSet([9, 4])
    ready.add(first)
    ready |= OrderedSet([2])
    return x * len(ready), ready


x = torch.ones(2)
_, expected = schedule(x, 7)
y, actual = torch.compile(schedule)(x, 7)
print(list(expected), list(actual))
assert list(actual) == list(expected), f"{list(actual)}, not {list(expected)}"
