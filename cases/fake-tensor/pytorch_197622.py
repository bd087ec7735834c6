# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197622"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Backward of antialiased bicubic interpolation fails with symbolic sizes"
# component = "fake-tensor"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "isIntList\\(\\) INTERNAL ASSERT FAILED"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "SymIntArrayRef expected to contain only concrete"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "^\\s+from user code:"
# frame = "utils\\.py:\\d+ get_fake_value"
# ///
"""The backward operator of antialiased bicubic interpolation has no meta kernel in Python, so a fake tensor calls the
C++ one, which takes sizes as plain integers. With dynamic=True the sizes are symbols, and unpacking them trips an
internal assertion. Correct: the gradient of eager. Source: pytorch issue 197622.
"""

import torch


def halve(x: torch.Tensor) -> torch.Tensor:
    size = (x.shape[2] // 2, x.shape[3] // 2)
    return torch.nn.functional.interpolate(x, size=size, mode="bicubic", antialias=True)


def test_gradient_with_dynamic_sizes(device: str, backend: str) -> None:
    gradients = []
    for fn in (torch.compile(halve, backend=backend, dynamic=True), halve):
        x = torch.arange(64.0, device=device).reshape(1, 1, 8, 8).requires_grad_()
        fn(x).square().sum().backward()
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[0], gradients[1])


if __name__ == "__main__":
    test_gradient_with_dynamic_sizes("cpu", "aot_eager")
