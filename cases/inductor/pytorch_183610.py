# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183610"
# fix = "https://github.com/pytorch/pytorch/pull/179923"
# title = "Compiled integer % by zero kills the process"
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
# output = 'Current thread [^\n]+first\):\n  File "[^"\n]+", line \d+ in call\n(?s:.*) in remainder\n'
# ///
"""The remainder of an integer division by zero is undefined in C++ and a hardware trap on x86. Eager's kernel
looks at each divisor first and raises; the kernel Inductor generates uses a bare %, so the process is killed.
Correct: the RuntimeError that eager raises. Source: issue 183610, fix in PR 179923.
"""

import torch


def test_zero_divisor_is_an_error(device: str, backend: str) -> None:
    def remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a % b

    compiled = torch.compile(remainder, backend=backend)
    dividend, divisor = torch.tensor([7, -7, 9], device=device), torch.tensor([2, 2, -4], device=device)
    torch.testing.assert_close(compiled(dividend, divisor), remainder(dividend, divisor), rtol=0, atol=0)
    zero = torch.tensor([2, 0, -4], device=device)
    for run in (remainder, compiled):
        try:
            run(dividend, zero)
        except RuntimeError as error:
            if "ZeroDivisionError" not in str(error):
                raise
        else:
            raise AssertionError("integer remainder by zero was accepted")


def bench_remainder(device: str) -> tuple:
    def remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a % b

    return remainder, (torch.randint(-1000, 1000, (300_000,), device=device), torch.full((300_000,), 7, device=device))


if __name__ == "__main__":
    test_zero_divisor_is_an_error("cpu", "inductor")
