import torch


class Mask(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, column):
        weights = torch.full_like(column, self.scale)
        return weights


def layout(tensor):
    return tuple(tensor.shape), tensor.stride()


column = torch.linspace(0, 1, 7).reshape(1, 7).t()
mask = Mask(0.5)
wanted = layout(mask(column))
got = layout(torch.compile(mask)(column))
for name, value in (("eager", wanted), ("compiled", got)):
    print(name, value)
assert got == wanted, f"layout {got} instead of {wanted}"
