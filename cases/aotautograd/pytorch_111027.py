# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/111027"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The gradient of sgn of a view is a tensor without memory"
# component = "aotautograd"
# symptom = "crash"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["training", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "bad_function_call"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'Current thread [^\n]+first\):\n  File "torch/_functorch/aot_autograd\.py", line \d+ in from_fun\n'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# blocked = true
# outcome = "raise"
# error = "RuntimeError"
# match = 'Attempted to call copy_\(\) on an invalid python storage\.'
# ///
"""The gradient of sgn is a ZeroTensor, which stands for zeros and has no memory. Functionalization in C++ takes the view
of the forward pass back on it and follows a null pointer. Correct: a gradient of zeros.
Source: pytorch issue 111027.
"""

import torch


def signs(x: torch.Tensor) -> torch.Tensor:
    return x.view(2, 2).sgn()


def test_gradient_of_signs(device: str, backend: str) -> None:
    x = torch.tensor([2.0, 2.0, -2.0, -2.0], device=device, requires_grad=True)
    actual = torch.compile(signs, backend=backend)(x)
    assert actual.tolist() == [[1.0, 1.0], [-1.0, -1.0]], f"the signs are {actual.tolist()}"
    actual.sum().backward()
    assert x.grad is None or x.grad.eq(0).all(), f"a step has the gradient {x.grad.tolist()}"


if __name__ == "__main__":
    test_gradient_of_signs("cpu", "aot_eager")
