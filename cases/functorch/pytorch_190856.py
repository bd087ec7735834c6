# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/190856"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The second forward derivative of a trace times the identity reads a tensor without memory"
# component = "functorch"
# symptom = "crash"
# devices = ["cpu"]
# demands = []
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <function _jvp_treespec_compare at'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.14"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'Current thread [^\n]+first\):\n  File "[^"\n]+", line \d+ in call\n(?s:.*) in test_second_derivative\n'
# ///
"""Forward mode stands for the derivative of a constant with a tensor of zeros that has no memory, and the generated kernel
reads where its memory would be. Correct: eager's derivative, zeros.
Source: pytorch issue 190856.
"""

import torch
from torch.func import jacfwd


def scaled_identity(x: torch.Tensor) -> torch.Tensor:
    return torch.trace(x) * torch.eye(3, dtype=x.dtype, device=x.device)


def test_second_derivative(device: str, backend: str) -> None:
    x = torch.ones(3, 3, device=device)
    actual = torch.compile(jacfwd(jacfwd(scaled_identity)), backend=backend)(x)
    assert actual.eq(0).all(), "a linear function has a second derivative"


if __name__ == "__main__":
    test_second_derivative("cpu", "inductor")
