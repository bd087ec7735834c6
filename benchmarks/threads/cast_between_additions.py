import torch


def offset(x, level):
    high = torch.full_like(x, level, dtype=torch.float32)
    mixed = torch.where(x > 0, x.float() * 1.001, high)
    half = mixed.to(torch.float16)
    return (half + 0.1).float() + x.float() * 0.001


torch.manual_seed(0)
x = torch.randn(64, dtype=torch.float16)
expected = offset(x, 0.3)
compiled = torch.compile(offset)(x, 0.3)
print((expected - compiled).abs().max())
assert torch.equal(expected, compiled)
