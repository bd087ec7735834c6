# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172088"
# fix = "https://github.com/pytorch/pytorch/pull/177095"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Compiling under a TorchFunctionMode with mutable state fails the guard self-check"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.12"
# outcome = "raise"
# error = "AssertionError"
# match = '(?s)Guard (check )?failed.*___get_torch_function_mode_stack_at\(0\)\.count'
# ///
"""An active TorchFunctionMode is part of Dynamo's guards, attributes included. Reading tensor properties to
build those guards dispatches to the mode itself, which counts: the state has changed when the new guards
are checked against the frame they were made for. Correct: compilation runs no user mode; compiles and
equals eager. Source: issue 172088, PR 177095.
"""

import torch
from torch.overrides import TorchFunctionMode


class Counter(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


def test_mode_with_counter(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 3, device=device)
    with Counter():
        actual = torch.compile(sine, backend=backend)(x)
    torch.testing.assert_close(actual, sine(x))


if __name__ == "__main__":
    test_mode_with_counter("cpu", "eager")
