# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/184100"
# fix = "https://github.com/pytorch/pytorch/pull/184516"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Backward of a complex tensor times a complex literal fails in lowering"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["inductor"]
# labels = ["complex"]
# demands = ["training", "complex"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.13"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "'complex' object has no attribute 'get_name'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "AttributeError"
# match = "'complex' object has no attribute 'get_name'"
#
# [[tool.pt2bugs.bug]]
# # The failure of 105290, which comes first.
# torch = "<2.5"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "aten::_conj\\(\\) Expected a value of type 'Tensor' for argument 'self'"
# ///
"""The gradient of z * c is the incoming gradient times conj(c). For a literal c the traced graph holds a conj
of a Python complex number, and Inductor's fallback for complex arguments takes it for a tensor. Correct: the
gradient of eager. Source: pytorch issue 184100.
"""

import torch


def rotated_length(z: torch.Tensor) -> torch.Tensor:
    return (z * 1j).abs().sum()


def test_gradient(device: str, backend: str) -> None:
    gradients = []
    for fn in (torch.compile(rotated_length, backend=backend), rotated_length):
        z = torch.tensor([3 + 4j, -6 + 8j], device=device, requires_grad=True)
        fn(z).backward()
        gradients.append(z.grad)
    torch.testing.assert_close(gradients[0], gradients[1])


def bench_gradient(device: str) -> tuple:
    def gradient(z: torch.Tensor) -> torch.Tensor:
        (grad,) = torch.autograd.grad(rotated_length(z), z)
        return grad

    return gradient, (torch.randn(200_000, dtype=torch.complex64, device=device).requires_grad_(),)


if __name__ == "__main__":
    test_gradient("cpu", "inductor")
