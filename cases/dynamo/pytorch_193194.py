# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/193194"
# fix = "https://github.com/pytorch/pytorch/pull/193254"
# title = "A float attribute that two checkpointed calls read cannot be lifted under dynamic shapes"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["checkpoint"]
# demands = ["training", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = 'from user code:\s+File "torch/random\.py", line \d+, in get_rng_state'
# frame = 'torch/_dynamo/variables/builder\.py:\d+ wrap_fx_proxy_cls'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.15"
# outcome = "raise"
# error = "AssertionError"
# match = "lift_tracked_freevar_to_input should not be called on root SubgraphTracer"
# ///
"""With dynamic shapes a float becomes a graph input, and Dynamo caches its variable for the frame by the source. The
number was taken out of that input in the tracer that was active at the first read. Here that is the body of the
first checkpoint, so the second body finds a value of a sibling, which is none of its parents. Correct: both
bodies read the float, and result and gradient are eager's. Source: pytorch issue 193194, PR 193254.
"""

import torch
from torch.utils.checkpoint import checkpoint


class Shift(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.offset = 0.25

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.offset).square()


def test_two_checkpoints_share_a_float(device: str, backend: str) -> None:
    shift = Shift()

    def twice(x: torch.Tensor) -> torch.Tensor:
        first = checkpoint(shift, x, use_reentrant=False)
        return first + checkpoint(shift, 2 * x, use_reentrant=False)

    x = torch.arange(6.0, device=device).reshape(3, 2).requires_grad_()
    out = torch.compile(twice, backend=backend, dynamic=True)(x)
    out.sum().backward()
    value = x.detach()
    torch.testing.assert_close(out, (value + 0.25) ** 2 + (2 * value + 0.25) ** 2)
    torch.testing.assert_close(x.grad, 2 * (value + 0.25) + 4 * (2 * value + 0.25))


if __name__ == "__main__":
    test_two_checkpoints_share_a_float("cpu", "eager")
