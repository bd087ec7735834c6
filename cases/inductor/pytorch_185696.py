# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/185696"
# upstream = "open"
# upstream-seen = 2026-11-25
# # Pull request 194878, which is open, is for this issue.
# reported-on = "2.13.0.dev20260521"
# title = "atan2 of a float16 zero and its negation loses the sign of zero"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# demands = []
# ///
"""atan2(0, -0) is pi and atan2(0, 0) is 0: the sign of a zero decides. The fused Triton kernel, which computes in
float32 between its float16 load and store, behaves as if the negation of 0 were +0; the report leaves open
whether the negation or atan2 loses the sign. Correct: eager's value, 3.1406. As reported the compiled function
returned 0 for an input of 0, and agreed with eager for the smallest subnormal numbers. Source: pytorch issue
185696.
"""

import torch


def angle(x: torch.Tensor) -> torch.Tensor:
    return torch.atan2(x, -x)


def test_angle_of_a_negated_zero(device: str, backend: str) -> None:
    x = torch.tensor([0.0, 1.0, -1.0], device=device, dtype=torch.float16)
    torch.testing.assert_close(torch.compile(angle, backend=backend)(x), angle(x))


if __name__ == "__main__":
    test_angle_of_a_negated_zero("cuda", "inductor")
