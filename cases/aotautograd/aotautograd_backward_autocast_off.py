# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/156356"
# title = "backward_pass_autocast=off: the compiled backward runs without autocast"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "autocast"]
# guard = true
# requires-torch = ">=2.9"
# ///
"""AOTAutograd traces backward during the forward call, under the autocast that surrounds it. With
backward_pass_autocast = "off" the backward is traced without autocast, as it runs in eager when
backward() is called outside. Correct: float32 gradients equal to eager's though forward was called under
bfloat16 autocast. Tried: the program of issue 153044; it fails nowhere. Source: PR 156356.
"""

import torch
import torch._functorch.config as functorch_config


def project(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    with torch.autocast(x.device.type, enabled=False):
        return x.float() @ weight


def test_gradient_outside_autocast(device: str, backend: str) -> None:
    gradients = []
    for fn in (project, torch.compile(project, backend=backend)):
        torch.manual_seed(0)
        x, weight = (torch.randn(8, 8, device=device, requires_grad=True) for _ in range(2))
        no_autocast_in_backward = functorch_config.patch(backward_pass_autocast="off")
        with no_autocast_in_backward, torch.autocast(device, dtype=torch.bfloat16):
            out = fn(x, weight)
        gradients.append(torch.autograd.grad((out * 1.001).sum(), (x, weight)))
    torch.testing.assert_close(gradients[1], gradients[0])


if __name__ == "__main__":
    test_gradient_outside_autocast("cpu", "aot_eager")
