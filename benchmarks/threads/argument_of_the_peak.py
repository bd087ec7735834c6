import torch
from torch import nn


class Unpool(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AdaptiveMaxPool2d(3, return_indices=True)

    def forward(self, image):
        return self.pool(image.mT * 2)


torch.manual_seed(4)
net = Unpool()
image = torch.rand(1, 2, 15, 15)
peak, where = net(image)
fast_peak, fast_where = torch.compile(net)(image)
print((where != fast_where).sum().item(), "positions differ")
assert torch.equal(peak, fast_peak)
assert torch.equal(where, fast_where)
