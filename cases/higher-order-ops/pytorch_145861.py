# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145861"
# fix = "https://github.com/pytorch/pytorch/pull/169646"
# title = "The backward of flex_attention on the CPU fails inside its lowering"
# component = "higher-order-ops"
# symptom = "backend-failure"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# requires-torch = ">=2.5"
# labels = ["flex-attention"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'IndexError: tuple index out of range'
# frame = 'torch/fx/interpreter\.py:\d+ call_function'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'Cannot re-initialize CUDA in forked subprocess\. To use CUDA with multiprocessing, you must'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.11"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'IndexError: tuple index out of range'
# frame = 'torch/fx/interpreter\.py:\d+ call_function'
# ///
"""There is no backward of flex_attention on a CPU. Releases with the bug take inputs that need a gradient, and end in an
IndexError of the lowering. Correct: a refusal that says so, or the gradient.
Source: pytorch issue 145861.
"""

import torch
from torch.nn.attention.flex_attention import flex_attention


def test_refused_or_right(device: str, backend: str) -> None:
    q, k, v = (torch.linspace(-1, 1, 4096, device=device).reshape(1, 2, 128, 16).requires_grad_() for _ in range(3))
    with torch.no_grad():
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(1, device=device))
    try:
        torch.compile(flex_attention, backend=backend)(q, k, v).sum().backward()
    except Exception as error:
        text = str(error)
        if "backward" not in text or "CPU" not in text:
            raise
    else:
        assert q.grad is not None, "flex_attention has no gradient"


if __name__ == "__main__":
    test_refused_or_right("cpu", "inductor")
