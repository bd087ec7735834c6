# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/149969"
# fix = "https://github.com/pytorch/pytorch/pull/185739"
# title = "Modules whose forward was replaced by a functools.partial recompile one by one"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["recompilation"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled 4 times for 4 equal layers"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled 4 times for 4 equal layers"
# ///
"""Hooks as Accelerate's put a functools.partial in the place of a module's forward. Dynamo guards an
instance's forward, and a partial only by its identity, so a frame that serves a list of equal layers is
compiled anew for each of them. Correct: equal layers share one compilation. Source: issue 149969, PR 185739.
"""

import functools

import torch


def patched_forward(module: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.linear(x, module.weight, module.bias)


def patched_layer(device: str) -> torch.nn.Linear:
    layer = torch.nn.Linear(3, 3).to(device)
    layer.forward = functools.partial(patched_forward, layer)
    return layer


def call(layer: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return layer(x)


def test_equal_layers_share_a_compilation(device: str) -> None:
    torch.manual_seed(0)
    compilations = []

    def backend(graph_module, example_inputs):
        compilations.append(graph_module)
        return graph_module

    compiled = torch.compile(call, backend=backend)
    x = torch.ones(3, device=device)
    layers = [patched_layer(device) for _ in range(4)]
    for layer in layers:
        torch.testing.assert_close(compiled(layer, x), layer(x))
    assert len(compilations) == 1, f"compiled {len(compilations)} times for 4 equal layers"


if __name__ == "__main__":
    test_equal_layers_share_a_compilation("cpu")
