"""The derivative of a compiled model at each of many points."""

import torch


def energy(position: torch.Tensor) -> torch.Tensor:
    return position**4 / 4 - position


def force(function):
    return lambda x: torch.func.jacrev(lambda y: (function(y), y), has_aux=True)(x)[0]


positions = torch.linspace(-1, 1, 5)
compiled = torch.compile(force(torch.compile(energy, backend="aot_eager")), backend="aot_eager")
forces = torch.compile(torch.vmap(compiled), backend="aot_eager")
for step in range(2):
    slope = forces(positions)
    positions = positions - 0.1 * slope
    print(f"step {step}: slope {slope.abs().sum().item():.4f}")
