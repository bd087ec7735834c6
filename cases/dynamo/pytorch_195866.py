# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195866"
# fix = "https://github.com/pytorch/pytorch/pull/189433"
# upstream = "closed"
# upstream-seen = 2026-11-24
# reported-on = "2.13.0"
# title = "torch.compile keeps the input of a frame with torch.cond alive in a reference cycle"
# component = "dynamo"
# symptom = "memory"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["control-flow"]
# demands = ["control-flow"]
# requires-torch = ">=2.3"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12,<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = "still alive after the last reference to it was dropped"
# ///
"""Compiling a frame with a higher-order operator leaves Dynamo's tracer state in a reference cycle that
also reaches the frame's input tensors. They are freed by the next full collection only, far too late for
activations on an accelerator. The collector is switched off, so that what counts is references alone.
Correct: the input is freed as soon as the caller drops it, as without torch.cond. Source: issue 195866.
"""

import gc
import weakref

import torch


def increment(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def decrement(x: torch.Tensor) -> torch.Tensor:
    return x - 1


def branch(flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.cond(flag, increment, decrement, (x,))


def test_input_is_freed(device: str, backend: str) -> None:
    flag = torch.tensor(True, device=device)
    x = torch.arange(4.0, device=device)
    alive = weakref.ref(x)
    gc.collect()
    gc.disable()
    try:
        actual = torch.compile(branch, backend=backend)(flag, x)
        torch.testing.assert_close(actual, x + 1, rtol=0, atol=0)
        del x
        assert alive() is None, "input still alive after the last reference to it was dropped"
    finally:
        gc.enable()


if __name__ == "__main__":
    test_input_is_freed("cpu", "eager")
