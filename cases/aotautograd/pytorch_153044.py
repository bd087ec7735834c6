# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/153044"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "The compiled backward runs under the autocast of the forward"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "autocast"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 8 / 8 \([\d.]+%\)\nGreatest absolute difference: 0\.01[23]\d* '
# ///
"""The joint graph is traced during the forward call, so backward is traced under the autocast that
surrounds that call, although the user runs backward outside it. Here forward switches autocast off
inside, and the gradients are still computed in bfloat16, which has 1 for the 1.001 that comes in. Correct:
float32 gradients as in eager.
torch._functorch.config.backward_pass_autocast = "off" avoids it (2.9 and later). Source: issue 153044,
also 179804.
"""

import torch


def project(x: torch.Tensor, weight: torch.Tensor, device: str) -> torch.Tensor:
    with torch.autocast(device, enabled=False):
        return x.float() @ weight


def test_gradient_outside_autocast(device: str, backend: str) -> None:
    gradients = []
    for fn in (project, torch.compile(project, backend=backend)):
        x = torch.arange(8.0, device=device).reshape(2, 4).requires_grad_()
        weight = torch.arange(8.0, device=device).reshape(4, 2).requires_grad_()
        with torch.autocast(device, dtype=torch.bfloat16):
            out = fn(x, weight, device)
        assert out.dtype == torch.float32
        (out * 1.001).sum().backward()
        gradients.append((x.grad, weight.grad))
    torch.testing.assert_close(gradients[1], gradients[0])


if __name__ == "__main__":
    test_gradient_outside_autocast("cpu", "aot_eager")
