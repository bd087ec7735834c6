# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183017"
# fix = "https://github.com/pytorch/pytorch/pull/183658"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The backward of a trained while_loop refuses the expanded gradient of a sum"
# component = "higher-order-ops"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.5"
# labels = ["control-flow"]
# demands = ["control-flow", "training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = 'None mismatch: None is not tensor\(\[\[0\.1250, 0\.1250, 0\.1250\],'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'same metadata but found:\s+.requires_grad: True vs False'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.9"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = 'None mismatch: None is not tensor\(\[\[0\.1250, 0\.1250, 0\.1250\],'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9,<2.10"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = '`inductor` failed with aten\._local_scalar_dense'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.13"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'pair\[1\] differ in .stride: \(0, 0\) vs \(3, 1\)'
# ///
"""The backward of while_loop is a while_loop whose carry is the incoming gradient. The gradient of a sum is one number,
expanded, with strides of 0; the body returns an ordinary tensor, and the two do not have the same metadata. Correct:
0.5 ** 3 for every element.
Source: pytorch issue 183017.
"""

import torch
from torch._higher_order_ops.while_loop import while_loop


def looped(x: torch.Tensor) -> torch.Tensor:
    def unfinished(step: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
        return step < 3

    def body(step: torch.Tensor, carry: torch.Tensor):
        return step + 1, carry * 0.5

    return while_loop(unfinished, body, (torch.zeros((), dtype=torch.int64, device=x.device), x))[1].sum()


def test_gradient_of_a_sum_of_the_carry(device: str, backend: str) -> None:
    x = torch.ones(4, 3, device=device, requires_grad=True)
    torch.compile(looped, backend=backend, fullgraph=True)(x).backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 0.125))


if __name__ == "__main__":
    test_gradient_of_a_sum_of_the_carry("cpu", "inductor")
