# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/181175"
# fix = "https://github.com/pytorch/pytorch/pull/184659"
# title = "Dynamic shapes: the gradient of a transposed convolution calls numel() on symbolic sizes"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["dynamic-shapes", "training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^\\s*$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_subclasses/meta_utils\.py:\d+ <lambda>\ntorch/_subclasses/fake_tensor\.py:\d+ mk_fake_tensor'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Cannot call numel\\(\\) on tensor with symbolic sizes/strides[\\s\\S]*_convolution_double_backward"
# ///
"""torch.func.grad inside a compiled function puts convolution_backward into the forward graph, and a training
graph differentiates it again. The C++ formula of the double backward, for transposed convolutions, calls
numel(), which tensors with symbolic sizes refuse. Correct: with dynamic=True the gradient equals eager's.
Source: pytorch issue 181175.
"""

import torch
from torch.nn.functional import conv_transpose2d


def test_dynamic_gradient_of_a_transposed_convolution(device: str, backend: str) -> None:
    weight = torch.linspace(-1, 1, 18, device=device).reshape(1, 2, 3, 3).requires_grad_()

    def score(x: torch.Tensor) -> torch.Tensor:
        return conv_transpose2d(x, weight).square().mean()

    def gradient(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return torch.func.grad(score)(y)

    x = torch.linspace(0, 1, 40, device=device).reshape(2, 1, 4, 5)
    actual = torch.compile(gradient, backend=backend, dynamic=True)(x)
    torch.testing.assert_close(actual, gradient(x))


if __name__ == "__main__":
    test_dynamic_gradient_of_a_transposed_convolution("cpu", "aot_eager")
