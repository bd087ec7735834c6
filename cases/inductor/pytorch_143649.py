# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143649"
# fix = "https://github.com/pytorch/pytorch/pull/186021"
# title = "Compiled integer floor division by zero kills the process"
# component = "inductor"
# symptom = "crash"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# platform = "x86_64"
# outcome = "crash"
# signal = "SIGFPE"
# output = 'Current thread [^\n]+first\):\n  File "[^"\n]+", line \d+ in call\n(?s:.*) in divide\n'
# ///
"""Integer division by zero is undefined in C++ and a hardware trap on x86. Eager's kernel looks at each
divisor first and raises; the kernel Inductor generates divides without looking, so the process is killed.
Correct: the RuntimeError that eager raises. Source: issue 143649, fix in PR 186021.
"""

import torch


def test_zero_divisor_is_an_error(device: str, backend: str) -> None:
    def divide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.floor_divide(a, b)

    compiled = torch.compile(divide, backend=backend)
    dividend, divisor = torch.tensor([7, -7, 9], device=device), torch.tensor([2, 2, -4], device=device)
    torch.testing.assert_close(compiled(dividend, divisor), divide(dividend, divisor), rtol=0, atol=0)
    zero = torch.tensor([2, 0, -4], device=device)
    for run in (divide, compiled):
        try:
            run(dividend, zero)
        except RuntimeError as error:
            if "ZeroDivisionError" not in str(error):
                raise
        else:
            raise AssertionError("integer division by zero was accepted")


def bench_floor_divide(device: str) -> tuple:
    def divide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.floor_divide(a, b)

    return divide, (torch.randint(-1000, 1000, (300_000,), device=device), torch.full((300_000,), 7, device=device))


if __name__ == "__main__":
    test_zero_divisor_is_an_error("cpu", "inductor")
