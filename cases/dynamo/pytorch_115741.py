# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/115741"
# title = "A TorchFunctionMode around a compiled call also sees the compiler's own calls"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.13"
# outcome = "raise"
# error = "TypeError"
# match = "unsupported operand type\\(s\\) for \\*: 'NoneType' and 'int'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.13"
# outcome = "raise"
# error = "NotImplementedError"
# match = "'__mul__' is not implemented for \\S+_RecordFunction"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'__mul__' is not implemented for \\S+_RecordFunction"
# ///
"""A TorchFunctionMode changes what torch functions return for the code under it. Torch functions that the
compiler calls for itself while it traces or checks guards get the mode as well, and break on results they did
not ask for. Correct: the mode applies to the user's calls alone, with the result of eager. Source: pytorch
issue 115741.
"""

import torch
from torch.overrides import TorchFunctionMode


class Doubling(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {})) * 2


def flatten(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1)


def test_mode_around_the_call(device: str, backend: str) -> None:
    x = torch.ones(3, device=device)
    compiled = torch.compile(flatten, backend=backend)
    with Doubling():
        actual = compiled(x)
    torch.testing.assert_close(actual, x * 2, rtol=0, atol=0)


if __name__ == "__main__":
    test_mode_around_the_call("cpu", "aot_eager")
