# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183017"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "while_loop refuses a carry whose strides the body changes"
# component = "higher-order-ops"
# symptom = "internal-error"
# # The issue is a stride mismatch in the backward of a trained while_loop; this refusal of the forward stands beside it.
# kind = "limitation"
# found-beside = "https://github.com/pytorch/pytorch/issues/183017"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.5"
# labels = ["control-flow"]
# demands = ["control-flow"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.UncapturedHigherOrderOpError"
# match = "pair\\[1\\] differ in 'stride: \\(1, 2\\) vs \\(3, 1\\)'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.UncapturedHigherOrderOpError"
# match = "while_loop doesn't work unless it is captured completely"
# ///
"""To compile the body once, while_loop asks that what it returns has the metadata of what it got, and counts
strides in. Strides are a matter of layout that eager's loop does not look at, and a transposed carry is the
same value. Correct: the result of the loop in Python. Source: pytorch issue 183017.
"""

import torch
from torch._higher_order_ops.while_loop import while_loop


def looped(x: torch.Tensor) -> torch.Tensor:
    def unfinished(step: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
        return step < 3

    def body(step: torch.Tensor, carry: torch.Tensor):
        return step + 1, (carry * 2).t().contiguous().t()

    return while_loop(unfinished, body, (torch.zeros((), dtype=torch.int64, device=x.device), x))[1]


def test_strides_of_the_carry_change(device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    actual = torch.compile(looped, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, x * 8, rtol=0, atol=0)


if __name__ == "__main__":
    test_strides_of_the_carry_change("cpu", "aot_eager")
