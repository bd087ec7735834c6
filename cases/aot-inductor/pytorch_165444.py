# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/165444"
# fix = "https://github.com/pytorch/pytorch/pull/185077"
# title = "A counter in a buffer is folded into the compiled library"
# component = "aot-inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# compiles = false
# timeout = 120
# requires-torch = ">=2.6"
# labels = ["aot-inductor"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the counter gives \[2\.0, 2\.0, 2\.0\]'
# ///
"""Ahead of time buffers are constants that the library owns. A buffer of one element was folded into the code as a
number, although the program writes to it, so that every call starts from the value at compile time. Correct: the
counter goes on from call to call.
Source: pytorch issue 165444, PR 185077.
"""

import torch


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([1.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def test_counter_goes_on() -> None:
    exported = torch.export.export(Counter(), (torch.zeros(2),))
    loaded = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(exported))
    counts = [loaded(torch.zeros(2))[0].item() for _ in range(3)]
    assert counts == [2.0, 3.0, 4.0], f"the counter gives {counts}"


if __name__ == "__main__":
    test_counter_goes_on()
