import torch
from torch._higher_order_ops.scan import scan


def recurrence(decay, inputs):
    def step(state, item):
        state = torch.tanh(decay * state + item)
        return state, state * 1.0

    return scan(step, torch.zeros(inputs.shape[1:]), inputs, dim=0)[1]


def loop(decay, inputs):
    state, outputs = torch.zeros(inputs.shape[1:]), []
    for item in inputs:
        state = torch.tanh(decay * state + item)
        outputs.append(state)
    return torch.stack(outputs)


def loss(layer, decays, inputs):
    for decay in decays:
        inputs = layer(decay, inputs)
    return inputs.square().mean()


torch.manual_seed(3)
decays = [torch.rand(4, requires_grad=True) for _ in range(2)]
inputs = torch.randn(6, 2, 4)
expected = torch.autograd.grad(loss(loop, decays, inputs), decays)
compiled = torch.compile(lambda decays, inputs: loss(recurrence, decays, inputs))
actual = torch.autograd.grad(compiled(decays, inputs), decays)
torch.testing.assert_close(actual, expected)
