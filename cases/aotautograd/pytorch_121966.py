# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121966"
# upstream = "closed"
# upstream-seen = 2026-11-24
# same-fix = "pytorch_113263"
# title = "Checkpointing a compiled function with dropout recomputes while AOTAutograd traces it"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["checkpoint"]
# demands = ["training", "randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "RuntimeError: Detected that you are using FX to symbolically trace a dynamo-optimized function"
# ///
"""checkpoint without reentrance works by hooks on saved tensors, which recompute the region when a saved tensor is
asked for. They stayed active while AOTAutograd traced the compiled function of that region, so tracing its backward
ran the recomputation, which calls the compiled function again. Correct: the first call compiles, and the gradient
is zero exactly where dropout dropped the element. Source: pytorch issue 121966.
"""

import torch
from torch.utils.checkpoint import checkpoint


def drop(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(x * 5, 0.5)


def test_compiled_region_is_checkpointed(device: str, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.ones(64, device=device, requires_grad=True)
    out = checkpoint(torch.compile(drop, backend=backend), x, use_reentrant=False)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach(), rtol=0, atol=0)


if __name__ == "__main__":
    test_compiled_region_is_checkpointed("cpu", "aot_eager")
