import torch


def wave(x, frequency):
    return torch.tan(torch.sin(x * frequency) * 1.5)


torch.manual_seed(0)
x = torch.randn(128, dtype=torch.float16)
reference = wave(x, 3.0)
compiled = torch.compile(wave)(x, 3.0)
print("max", (reference - compiled).abs().max())
torch.testing.assert_close(compiled, reference)
