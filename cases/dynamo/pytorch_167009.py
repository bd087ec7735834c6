# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/167009"
# title = "A disabled pre-hook keeps the whole layer from being compiled"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["hooks"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "0 graphs: the layer with the disabled hook ran without the compiler"
# ///
"""The graph breaks at a hook that is disabled, inside the code of nn.Module that calls the hooks and forward, and the
rest of that frame is not traced again. Correct: the layer is one graph.
Source: pytorch issue 167009 (111966 for another break in such a hook).
"""

import torch
from torch._dynamo.utils import counters


@torch._dynamo.disable
def unchanged(module: torch.nn.Module, args: tuple) -> tuple:
    return args


class Wrapped(torch.nn.Module):
    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def test_layer_is_compiled(device: str, backend: str) -> None:
    counters.clear()
    layer = torch.nn.Linear(3, 2, device=device)
    layer.register_forward_pre_hook(unchanged)
    torch.compile(Wrapped(layer), backend=backend)(torch.ones(1, 3, device=device))
    graphs = counters["stats"]["unique_graphs"]
    assert graphs >= 1, f"{graphs} graphs: the layer with the disabled hook ran without the compiler"


if __name__ == "__main__":
    test_layer_is_compiled("cpu", "eager")
