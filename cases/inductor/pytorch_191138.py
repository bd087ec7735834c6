# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/191138"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "_scaled_mm with a row-major second matrix is refused when compiled for the CPU"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# labels = ["quantization"]
# requires-torch = ">=2.8"
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "mat_b must be col_major, got stride"
# ///
"""_scaled_mm multiplies two float8 matrices and their scales. Only the kernels of accelerators want the second one
column by column; that of the CPU takes any layout. Inductor lowers the call for all devices alike and checks the strides
that accelerators need, so what eager computes is refused. Correct: eager's product. Source: pytorch issue 191138.
"""

import unittest

import torch


def multiply(a: torch.Tensor, b: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch._scaled_mm(a, b, scale, scale, out_dtype=torch.float32)


def test_row_major_second_matrix(backend: str) -> None:
    a = (torch.arange(16 * 32) % 7).view(16, 32).to(torch.float8_e4m3fn)
    b = (torch.arange(32 * 48) % 5).view(32, 48).to(torch.float8_e4m3fn)
    scale = torch.ones(1)
    try:
        expected = multiply(a, b, scale)
    except (NotImplementedError, RuntimeError) as refusal:
        raise unittest.SkipTest(f"eager refuses: {refusal}") from None
    torch.testing.assert_close(torch.compile(multiply, backend=backend)(a, b, scale), expected)


if __name__ == "__main__":
    test_row_major_second_matrix("inductor")
