# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/86515"
# title = "Compiled function with autocast inside it, or called under autocast"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = { test_backward_outside = ["training", "autocast"], test_called_under_autocast = ["autocast"] }
# guard = true
# ///
"""Tracing bakes the casts of autocast into the graph, so the compiled graph, forward and backward, must run
with autocast off: casting again would change dtypes (sum becomes float32 under autocast, while inside
einsum it is not cast). Correct: values, dtypes and gradients as in eager for a function that switches
autocast on for a part of its forward, with backward outside it, and for a forward called under autocast.
Tried: bfloat16, matmul, einsum, softmax; it fails nowhere. Source: PR 86515.
"""

import torch


def mixed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        low = x @ weight
    return low.float().tanh() @ weight


def attend(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x @ weight, -1) + torch.einsum("ij,jk->ik", x, weight).sum(0)


def inputs(device: str, requires_grad: bool) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(4, 4, device=device).requires_grad_(requires_grad) for _ in range(2)]


def test_backward_outside(device: str, backend: str) -> None:
    results = []
    for fn in (mixed, torch.compile(mixed, backend=backend)):
        x, weight = inputs(device, True)
        out = fn(x, weight)
        results.append([out, *torch.autograd.grad(out.sum(), (x, weight))])
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-4)


def test_called_under_autocast(device: str, backend: str) -> None:
    results = []
    for fn in (attend, torch.compile(attend, backend=backend)):
        with torch.autocast(device, dtype=torch.bfloat16):
            results.append(fn(*inputs(device, False)))
    torch.testing.assert_close(results[1], results[0])


if __name__ == "__main__":
    test_backward_outside("cpu", "aot_eager")
    test_called_under_autocast("cpu", "aot_eager")
