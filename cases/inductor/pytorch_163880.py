# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/163880"
# fix = "https://github.com/pytorch/pytorch/pull/190936"
# title = "addmm with out_dtype has no lowering"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# requires-torch = ">=2.8"
# demands = []
# ///
"""addmm can return float32 for float16 factors (out_dtype, since torch 2.8, on CUDA). That is an overload of its
own, aten.addmm.dtype. Inductor's decomposition is registered for every overload of addmm but gives up where
out_dtype is set, and the lowering, registered for every overload too, takes no such argument. mm and bmm have
it. Correct: a float32 result that equals eager. As reported: TypeError, tuned_addmm() takes 3 positional
arguments but 4 were given; baddbmm failed as well. Source: pytorch issue 163880, PR 190936.
"""

import torch


def wide_sum(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.addmm(bias, a, b, out_dtype=torch.float32)


def test_float32_result_of_float16_factors(device: str, backend: str) -> None:
    bias, a, b = (torch.ones(64, 64, device=device, dtype=torch.float16) for _ in range(3))
    torch.testing.assert_close(torch.compile(wide_sum, backend=backend)(bias, a, b), wide_sum(bias, a, b))


if __name__ == "__main__":
    test_float32_result_of_float16_factors("cuda", "inductor")
