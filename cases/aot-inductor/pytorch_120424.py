# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/120424"
# fix = "https://github.com/pytorch/pytorch/pull/123164"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "AOTInductor returns the new value of a buffer instead of writing it"
# component = "aot-inductor"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.3"
# timeout = 240
# compiles = false
# labels = ["aot-inductor"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "ValueError"
# match = 'treespec\.unflatten\(leaves\): `leaves` has length 2 but the spec refers to a pytree that holds 1 items'
# ///
"""Export turns a write to a buffer into one more output of the graph. What makes the graph of a library from it looked for
that node in a table of names, found none, and left the new value among the outputs: the library returns a tensor more than
the program, and never writes the buffer. Correct: the second call finds what the first has written.
Source: pytorch issue 120424, PR 123164.
"""

import torch
import torch._export


class Doubling(torch.nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        self.register_buffer("power", torch.arange(1.0, 101.0, device=device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.power.mul_(2)
        return x + self.power


def test_second_call_goes_on(device: str) -> None:
    x = torch.zeros(100, device=device)
    with torch.no_grad():
        model = torch._export.aot_load(torch._export.aot_compile(Doubling(device), (x,)), device)
        firsts = [model(x)[0].item() for _ in range(3)]
    assert firsts == [2.0, 4.0, 8.0], f"doubled in each call, 1 is {firsts}"


if __name__ == "__main__":
    test_second_call_goes_on("cpu")
