# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/167313"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "addmm in front of a pointwise operation loses alpha and beta"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# demands = []
# ///
"""On a GPU Inductor takes an addmm apart again, into mm and add, where all its users are pointwise, so that the
addition is fused with them. The pattern matches calls with alpha and beta, but the replacement has neither, as
if both were 1. From torch 2.10 on it carries them over. Correct: 0.5 * 1 + 0.5 * 3 = 2. As reported the values
were twice those of eager for alpha = beta = 0.5. Source: pytorch issue 167313.
"""

import torch


def scaled(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.addmm(bias, a, b, alpha=0.5, beta=0.5))


def test_half_of_each(device: str, backend: str) -> None:
    bias, a, b = (torch.ones(size, device=device) for size in ((2,), (2, 3), (3, 2)))
    assert scaled(bias, a, b).tolist() == [[2, 2], [2, 2]]
    actual = torch.compile(scaled, backend=backend)(bias, a, b).tolist()
    assert actual == [[2, 2], [2, 2]], f"half of 1 plus half of 3 is {actual}"


if __name__ == "__main__":
    test_half_of_each("cuda", "inductor")
