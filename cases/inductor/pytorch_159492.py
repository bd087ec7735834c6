# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159492"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A bfloat16 product plus a float32 matrix is fused to an addmm that refuses it"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# demands = []
# ///
"""A pattern of Inductor replaces mm followed by add by one addmm. It looks at the shapes only: a bfloat16 product
and a float32 summand match, though addmm wants one dtype for all three. On the generated call eager's own check
fails. From torch 2.9 on the pattern asks for equal dtypes. Correct: the promoted sum, float32. As reported the
compiled function failed, eager did not. Source: pytorch issue 159492.
"""

import torch


def mixed_sum(x: torch.Tensor, weight: torch.Tensor, summand: torch.Tensor) -> torch.Tensor:
    return x @ weight + summand


def test_bfloat16_product_plus_float32(device: str, backend: str) -> None:
    x, weight = (torch.ones(64, 64, device=device, dtype=torch.bfloat16) for _ in range(2))
    summand = torch.arange(64.0 * 64, device=device).reshape(64, 64)
    actual = torch.compile(mixed_sum, backend=backend)(x, weight, summand)
    torch.testing.assert_close(actual, mixed_sum(x, weight, summand))


if __name__ == "__main__":
    test_bfloat16_product_plus_float32("cuda", "inductor")
