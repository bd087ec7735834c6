# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197086"
# upstream = "open"
# upstream-seen = 2026-11-25
# reported-on = "2.14.0"
# title = "The forward derivative of ldexp kills the process"
# component = "aotautograd"
# symptom = "crash"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = []
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'Current thread [^\n]+first\):\n  File "torch/_ops\.py", line \d+ in __call__\n  File "torch/_functorch/_aot_autograd/runtime_wrappers\.py", line \d+ in __torch_dispatch__'
# ///
"""The tangent of ldexp's exponent is a tensor of zeros without memory, and the graph that AOTAutograd traced reads it. In
eager mode, and under Inductor, nothing is read. Correct: the tangent of eager, twice two to the exponents.
Source: pytorch issue 197086.
"""

import torch


def test_tangent(device: str, backend: str) -> None:
    exponents = torch.tensor([1.0, 2.0, -1.0], device=device)

    def tangent(x: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(lambda x: torch.ldexp(x, exponents), (x,), (direction,))[1]

    x, direction = torch.ones(3, device=device), torch.full((3,), 2.0, device=device)
    actual = torch.compile(tangent, backend=backend)(x, direction)
    torch.testing.assert_close(actual, tangent(x, direction))


if __name__ == "__main__":
    test_tangent("cpu", "aot_eager")
