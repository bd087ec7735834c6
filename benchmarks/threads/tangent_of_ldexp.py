import torch

torch.manual_seed(0)
exponents = torch.randint(-2, 4, (2, 5)).float()


def dequantize(mantissa):
    return torch.ldexp(mantissa, exponents)


def push(mantissa, direction):
    return torch.func.jvp(dequantize, (mantissa,), (direction,))


mantissa, direction = torch.rand(2, 5), torch.randn(2, 5)
value, tangent = push(mantissa, direction)
print("eager", value.sum().item(), tangent.sum().item())
fast = torch.compile(push, backend="aot_eager")
value, tangent = fast(mantissa, direction)
print("compiled", value.sum().item(), tangent.sum().item())
