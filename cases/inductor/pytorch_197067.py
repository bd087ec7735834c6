# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197067"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A tensor of zeros that has no memory is read"
# component = "inductor"
# symptom = "crash"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# blocked = true
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'meta_utils\.py:\d+ meta_tensor'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'Current thread [^\n]+first\):\n  File "[^"\n]+", line \d+ in call\n(?s:.*) in test_gradient_of_sign\n'
# ///
"""The gradient of torch.sgn is a ZeroTensor: it stands for zeros and has no memory. Eager operators know of it; the
generated kernel reads where its memory would be. Correct: the values of zeros, or an error that Python can catch.
Source: pytorch issue 197067.
"""

import torch


def last_plus_ten(x: torch.Tensor) -> torch.Tensor:
    return x[-1] + 10


def test_gradient_of_sign(device: str, backend: str) -> None:
    x = torch.ones(3, device=device, requires_grad=True)
    (zeros,) = torch.autograd.grad(torch.sgn(x).sum(), x)
    assert zeros._is_zerotensor(), "eager makes a gradient with memory"
    value = torch.compile(last_plus_ten, backend=backend)(zeros).item()
    assert value == 10, f"zero plus ten is {value}"


if __name__ == "__main__":
    test_gradient_of_sign("cpu", "inductor")
