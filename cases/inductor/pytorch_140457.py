# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/140457"
# fix = "https://github.com/pytorch/pytorch/pull/161447"
# title = "An element of a CPU tensor is read by a Triton kernel"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# demands = []
# ///
"""Eager adds a 0-dimensional CPU tensor to a CUDA tensor. Inductor hands such a tensor to a Triton kernel as a
number, if it is a graph input or a buffer of its own; b[0] is a view of an input with one dimension, which the
fused kernel loads from itself, through a pointer to host memory. Correct: the element is broadcast. As
reported: ValueError, Pointer argument (at 1) cannot be accessed from Triton (cpu tensor?). Source: pytorch
issue 140457, PR 161447.
"""

import torch


def add_first(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b[0]


def test_first_element_of_a_cpu_tensor(device: str, backend: str) -> None:
    a, b = torch.arange(3.0, device=device), torch.tensor([10.0, 20.0])
    torch.testing.assert_close(torch.compile(add_first, backend=backend)(a, b), add_first(a, b))


if __name__ == "__main__":
    test_first_element_of_a_cpu_tensor("cuda", "inductor")
