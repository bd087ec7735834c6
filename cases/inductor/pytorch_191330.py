# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/191330"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A complex tensor constant has no Triton type"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# labels = ["complex"]
# demands = ["complex"]
# ///
"""Inductor computes complex numbers by falling back to eager's kernels. A tensor that is made from Python values
in the function is a constant of the graph, and filling it is a kernel of its own with a complex64 output: the
table of Triton types has no complex ones. Correct: it compiles and equals eager, as it does on a CPU. As
reported: InductorError, KeyError 'complex64', while the signature of the kernel was written. Source: pytorch
issue 191330.
"""

import torch


def add_constant(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1 + 2j, 3 + 4j, 5 + 6j], dtype=torch.complex64, device=x.device)


def test_sum_with_a_complex_constant(device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    torch.testing.assert_close(torch.compile(add_constant, backend=backend)(x), add_constant(x))


if __name__ == "__main__":
    test_sum_with_a_complex_constant("cuda", "inductor")
