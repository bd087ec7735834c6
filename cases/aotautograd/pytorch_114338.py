# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114338"
# fix = "https://github.com/pytorch/pytorch/pull/115294"
# title = "Equal outputs computed with and without grad mode are merged"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager", "inductor"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'requires_grad\) is \(False, False, False\), eager \(False, True, False\)'
# ///
"""Under an ambient no_grad AOTAutograd traces for inference, and the two equal additions become one node by
common subexpression elimination although one was computed with grad enabled. Correct: two tensors, the
first with gradient history, the second without; a write to one does not change the other. Source: issue
114338.
"""

import torch


def two_modes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.enable_grad():
        tracked = x + 1
    return tracked, x + 1


def run(fn: object, device: str) -> tuple:
    x = torch.ones(4, device=device, requires_grad=True)
    with torch.no_grad():
        tracked, untracked = fn(x)
        flags = tracked is untracked, tracked.requires_grad, untracked.requires_grad
        untracked.mul_(5)
    return flags, [tracked.detach(), untracked.detach()], tracked, x


def test_grad_mode_of_outputs(device: str, backend: str) -> None:
    flags, values, tracked, x = run(two_modes, device)
    compiled = run(torch.compile(two_modes, backend=backend), device)
    assert compiled[0] == flags, f"(one object, requires_grad, requires_grad) is {compiled[0]}, eager {flags}"
    torch.testing.assert_close(compiled[1], values)
    expected = torch.autograd.grad(tracked.sum(), x)
    torch.testing.assert_close(torch.autograd.grad(compiled[2].sum(), compiled[3]), expected)


if __name__ == "__main__":
    test_grad_mode_of_outputs("cpu", "aot_eager")
