# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/103132"
# title = "A batched matmul of a parameter with dynamic shapes fails under inference_mode"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'Cannot call sizes\(\) on tensor with symbolic sizes/strides\s+While executing %matmul'
# ///
"""Under inference mode the C++ decomposition of matmul for three dimensions runs, which asks the traced tensor for plain
sizes. Correct: eager's product.
Source: pytorch issue 103132; a regression test of PyTorch's names it.
"""

import torch


def product(x: torch.Tensor) -> torch.Tensor:
    return torch.matmul(x, x)


def test_product_under_inference_mode(device: str, backend: str) -> None:
    x = torch.arange(27.0, device=device).reshape(3, 3, 3).requires_grad_()
    with torch.inference_mode():
        actual = torch.compile(product, backend=backend, dynamic=True)(x)
        torch.testing.assert_close(actual, product(x))


if __name__ == "__main__":
    test_product_under_inference_mode("cpu", "aot_eager")
