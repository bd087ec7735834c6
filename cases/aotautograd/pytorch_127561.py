# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/127561"
# fix = "https://github.com/pytorch/pytorch/pull/129130"
# title = "A change that the backward makes to a buffer happens in the forward"
# component = "aotautograd"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["autograd-function"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = "lift_tracked_freevar_to_input should not be called on root SubgraphTracer"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'aot_autograd expected to have an entirely functional graph, but found %copy_ : \[num_users='
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'backwards counted after the forward and after the backward: \[1\.0, 1\.0\]'
# ///
"""The partitioner moves the copy into the buffer to the forward graph, since it needs nothing of the backward. Older releases
refuse the graph. Correct: the buffer changes when the backward runs.
Source: pytorch issue 127561.
"""

import torch


class CountsBackwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        ctx.count = count
        return x.sin()

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        ctx.count.add_(1)
        return grad * ctx.count, None


def test_count_after_forward_and_backward(device: str, backend: str) -> None:
    x, count = torch.ones(1, device=device, requires_grad=True), torch.zeros(1, device=device)
    out = torch.compile(lambda x: CountsBackwards.apply(x, count), backend=backend)(x)
    counts = [count.item()]
    out.sum().backward()
    counts.append(count.item())
    assert counts == [0.0, 1.0], f"backwards counted after the forward and after the backward: {counts}"


if __name__ == "__main__":
    test_count_after_forward_and_backward("cpu", "aot_eager")
