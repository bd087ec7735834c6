# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/120387"
# fix = "https://github.com/pytorch/pytorch/pull/120390"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A default argument of a torch.jit.script_if_tracing function fails in its guard"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'NoneType' object is not subscriptable"
# frame = 'torch/_dynamo/guards\.py:\d+ get'
# ///
"""Dynamo traces the function inside the wrapper and names its default arguments by the wrapper, which has none;
the guard on the default cannot be built. Correct: eager's result.
Source: pytorch issue 120387.
"""

import torch


@torch.jit.script_if_tracing
def scaled(x: torch.Tensor, factor: float, unused: int = 1) -> torch.Tensor:
    return x * factor


def doubled(x: torch.Tensor) -> torch.Tensor:
    return scaled(x, 2.0)


def test_default_argument(device: str, backend: str) -> None:
    assert torch.compile(doubled, backend=backend)(torch.ones(1, device=device)).item() == 2.0


if __name__ == "__main__":
    test_default_argument("cpu", "eager")
