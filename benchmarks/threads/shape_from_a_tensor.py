import torch


class Unflatten(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shape", torch.tensor([2, 6, -1]))

    def forward(self, x):
        return torch.reshape(x, torch.Size(self.shape)).mean(-1)


model = Unflatten()
x = torch.arange(48.0).reshape(4, 12)
print(model(x))
print(torch.compile(model, backend="aot_eager")(x))
