# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/128319"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A counter attribute of an nn.Module recompiles its forward on every call"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# labels = ["recompilation", "by-design"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled [4-6] times for 6 calls"
#
# [[tool.pt2bugs.bug]]
# # The guards of a module's attributes miss the change.
# torch = ">=2.9,<2.12"
# python = ">=3.13"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = "counter is 1 after 6 calls"
# ///
"""Dynamo specializes on integer attributes of a module, so a step counter that forward increments fails
its guard at each call: every call compiles, until the limit, then the frame runs uncompiled. Fixed for some
releases (142829); since 2.8 it is so again by design, as it always was for built-in modules, and
torch._dynamo.config.allow_unspec_int_on_nn_module = True is how a program asks for the other (155099): the
check sets it where it exists. Correct: an integer that was seen to change becomes symbolic, as an argument
does: at most three compilations (0, 1 and any). Source: pytorch issue 128319, PRs 142829 and 155099.
"""

import torch
import torch._dynamo.config as dynamo_config

OPTION = "allow_unspec_int_on_nn_module"


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return self.linear(x)


def test_counter_does_not_recompile(device: str) -> None:
    torch.manual_seed(0)
    compilations = []

    def backend(graph_module, example_inputs):
        compilations.append(graph_module)
        return graph_module

    module = Counter().to(device)
    compiled = torch.compile(module, backend=backend)
    x = torch.ones(1, 2, device=device)
    with dynamo_config.patch({OPTION: True} if hasattr(dynamo_config, OPTION) else {}):
        for _ in range(6):
            torch.testing.assert_close(compiled(x), module.linear(x))
    assert module.steps == 6, f"counter is {module.steps} after 6 calls"
    assert len(compilations) <= 3, f"compiled {len(compilations)} times for 6 calls"


if __name__ == "__main__":
    test_counter_does_not_recompile("cpu")
