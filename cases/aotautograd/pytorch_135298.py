# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/135298"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Compiled autograd waits for itself in the backward of a reentrant checkpoint"
# component = "aotautograd"
# symptom = "hang"
# devices = ["cpu"]
# backends = ["eager"]
# timeout = 40
# requires-torch = ">=2.4"
# labels = ["compiled-autograd"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "timeout"
# output = 'checkpoint\.py", line \d+ in backward\n  File "torch/_dynamo/external_utils\.py", line \d+ in call_backward'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# outcome = "raise"
# error = "RuntimeError"
# match = 'Trying to run compiled autograd within another compiled autograd call'
# ///
"""The backward of a reentrant checkpoint runs the autograd engine once more in the same thread. Compiled autograd holds a lock
while it records, and asks for it again. Since torch 2.5 it sees that and refuses, and later it can. Correct: the gradient.
Source: pytorch issue 135298, PR 134530.
"""

import torch
import torch._dynamo.compiled_autograd as compiled_autograd
from torch.utils.checkpoint import checkpoint


def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


def test_backward_of_a_checkpoint(device: str, backend: str) -> None:
    x = torch.zeros(3, device=device, requires_grad=True)
    y = checkpoint(sine, x, use_reentrant=True)
    enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable
    with enable(torch.compile(backend=backend)):
        y.sum().backward()
    assert x.grad.tolist() == [1.0] * 3, f"the gradient of a sine at 0 is {x.grad.tolist()}"


if __name__ == "__main__":
    test_backward_of_a_checkpoint("cpu", "eager")
