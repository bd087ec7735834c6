# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/135341"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "signbit of a bfloat16 tensor does not compile on the CPU"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'C\+\+ compile error[\s\S]*void kernel\(const bfloat16\*, bool\*\)'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'signs of 1, -1, 0 and -0 in bfloat16 are \[False, True, False, False\]'
# blocked = true
# ///
"""The generated C++ calls std::signbit on a bfloat16, for which the standard library has no overload. Correct: eager's
booleans, also for the negative zero.
Source: pytorch issue 135341.
"""

import torch


def signs(x: torch.Tensor) -> torch.Tensor:
    return torch.signbit(x)


def test_signs_of_half_precision(device: str, backend: str) -> None:
    x = torch.tensor([1.0, -1.0, 0.0, -0.0] * 8, dtype=torch.bfloat16, device=device)
    values = torch.compile(signs, backend=backend)(x)
    assert torch.equal(values, signs(x)), f"signs of 1, -1, 0 and -0 in bfloat16 are {values[:4].tolist()}"


if __name__ == "__main__":
    test_signs_of_half_precision("cpu", "inductor")
