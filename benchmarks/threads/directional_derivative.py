import torch
from torch.autograd import forward_ad


def energy(position):
    kinetic = 0.5 * (position * position).sum()
    potential = torch.cos(position).sum()
    return kinetic + potential


def derivative(function, point, direction):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(point, direction)
        return forward_ad.unpack_dual(function(dual)).tangent


point = torch.tensor([0.3, -0.7, 1.1, 2.0])
direction = torch.tensor([1.0, 0.0, -1.0, 0.5])
expected = derivative(energy, point, direction)
print("expected", expected)
actual = derivative(torch.compile(energy), point, direction)
print("compiled", actual)
assert actual is not None, "the tangent is lost"
torch.testing.assert_close(actual, expected)
