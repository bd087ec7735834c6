import torch
from torch import nn

SETTINGS = {"mode": "reduce-overhead", "options": {"epilogue_fusion": True}}


def prepare(model, settings):
    return torch.compile(model, dynamic=False, **settings)


model = prepare(nn.Linear(4, 4), SETTINGS)
print(model(torch.ones(2, 4)))
