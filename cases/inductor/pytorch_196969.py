# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196969"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A copy from the CPU to CUDA becomes a kernel with a host pointer"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# demands = []
# ///
"""A tensor made on the CPU is an output of the function and is also copied to CUDA, into a slice of another
tensor. The copy between devices is fused into the Triton kernel of the indexed assignment, which gets the CPU
tensor's pointer. Correct: both results, each on its device; eager and aot_eager give them. As reported:
RuntimeError, CUDA driver error, when the kernel was launched. Source: pytorch issue 196969.
"""

import torch


def matrix_and_center(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    center = torch.tensor([256, 256], dtype=torch.float32).view(1, 2) / 2.0 - 0.5
    center = center.expand(x.shape[0], -1)
    matrix = torch.eye(3, device=x.device).repeat(x.shape[0], 1, 1)
    matrix[:, :2, 2] = center.to(x)
    return matrix, center


def test_copy_of_an_output_on_the_cpu(device: str, backend: str) -> None:
    x = torch.zeros(1, 3, device=device)
    actual = torch.compile(matrix_and_center, backend=backend)(x)
    torch.testing.assert_close(actual, matrix_and_center(x))


if __name__ == "__main__":
    test_copy_of_an_output_on_the_cpu("cuda", "inductor")
