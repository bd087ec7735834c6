# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121374"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The sum of a CPU tensor is read by a Triton kernel"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# demands = []
# ///
"""Eager adds a 0-dimensional CPU tensor to a CUDA tensor. Inductor computes the sum of the CPU tensor by a C++
kernel into a buffer in host memory, and fuses the addition into a Triton kernel that gets the pointer of that
buffer. From torch 2.5 on 0-dimensional CPU buffers are passed as numbers. Correct: the sum is broadcast. As
reported: ValueError, Pointer argument (at 1) cannot be accessed from Triton (cpu tensor?). Source: pytorch
issue 121374.
"""

import torch


def add_total(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y.sum()


def test_total_of_a_cpu_tensor(device: str, backend: str) -> None:
    x, y = torch.arange(3.0, device=device), torch.tensor([10.0, 20.0])
    torch.testing.assert_close(torch.compile(add_total, backend=backend)(x, y), add_total(x, y))


if __name__ == "__main__":
    test_total_of_a_cpu_tensor("cuda", "inductor")
