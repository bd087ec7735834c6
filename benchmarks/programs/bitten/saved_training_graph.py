"""Compiles the graph of a trainable model ahead of time, and saves it for the other machines."""

import tempfile

import torch
import torch._inductor
from torch import nn

graphs = []


def keep(graph: torch.fx.GraphModule, inputs: list):
    graphs.append((graph, inputs))
    return graph


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
torch.compile(model, fullgraph=True, backend=keep)(torch.rand(2, 4))
with tempfile.TemporaryDirectory() as folder:
    artifact = torch._inductor.standalone_compile(*graphs[0])
    artifact.save(path=f"{folder}/model", format="binary")
    print("saved")
