from dataclasses import dataclass

import torch


@dataclass
class Step:
    hidden: torch.Tensor


current = Step(torch.zeros(3))


@torch.compiler.nested_compile_region
def layer():
    return current.hidden * 2 + 1


def stack(hidden, depth=3):
    global current
    for _ in range(depth):
        current = Step(hidden)
        hidden = layer()
    return hidden


start = torch.arange(3.0)
reference = stack(start)
fast = torch.compile(stack)(start)
print("eager   ", reference)
print("compiled", fast)
torch.testing.assert_close(fast, reference)
