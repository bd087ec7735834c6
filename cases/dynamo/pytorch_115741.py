# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/115741"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A TorchFunctionMode around a compiled call also sees the compiler's own calls"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "TypeError"
# match = "unsupported operand type\\(s\\) for \\*: 'NoneType' and 'int'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12"
# outcome = "raise"
# error = "TypeError"
# match = "unsupported operand type\\(s\\) for \\*: 'NoneType' and 'int'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.11"
# outcome = "raise"
# error = "NotImplementedError"
# match = "'__mul__' is not implemented for \\S+_RecordFunction"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'__mul__' is not implemented for \\S+_RecordFunction"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'__mul__' is not implemented for \\S+_RecordFunction"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_subclasses/fake_tensor\.py:\d+ from_real_tensor'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'%s' is not implemented for %s"
# frame = "profiler\\.py:\\d+ __enter__"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "unsupported operand type\\(s\\) for \\*: 'NoneType' and 'int'"
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
