import torch
from torch import nn
from torch.autograd import forward_ad

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
compiled = torch.compile(network)
x, v = torch.randn(5, 3), torch.randn(5, 3)


def push(model):
    with forward_ad.dual_level():
        out = model(forward_ad.make_dual(x, v))
        return forward_ad.unpack_dual(out)


primal, tangent = push(network)
print("eager", primal.shape, tangent.norm().item())
fast = push(compiled)
print("compiled", fast.tangent.norm().item())
torch.testing.assert_close(fast.tangent, tangent)
