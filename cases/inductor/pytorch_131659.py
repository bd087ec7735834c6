# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/131659"
# fix = "https://github.com/pytorch/pytorch/pull/131717"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The backward pass of max_pool2d scatters to negative indices"
# component = "inductor"
# symptom = "crash"
# devices = ["cpu"]
# backends = ["aot_eager_decomp_partition"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'Current thread [^\n]+first\):\n  File "torch/_ops\.py", line \d+ in __call__\n  File "torch/fx/interpreter\.py"'
# ///
"""The decomposition of max_pool2d keeps offsets within the window as int8, and an operator of its own makes indices of
them. Its eager implementation only converts the dtype, so the backward kernel writes wherever an offset points,
also before its memory. Correct: eager's gradient.
Source: pytorch issue 131659.
"""

import torch


def pooled(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.max_pool2d(x, kernel_size=3, stride=2, padding=1).sum()


def test_gradient_of_max_pool(device: str, backend: str) -> None:
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    x = torch.randn(2, 3, 224, 224, device=device, requires_grad=True)
    (expected,) = torch.autograd.grad(pooled(x), x)
    (actual,) = torch.autograd.grad(torch.compile(pooled, backend=backend)(x), x)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_gradient_of_max_pool("cpu", "aot_eager_decomp_partition")
