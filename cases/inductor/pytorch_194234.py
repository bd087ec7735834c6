# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194234"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "Generated code for a side stream names a stream it never defined"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# requires-torch = ">=2.10"
# labels = ["stream"]
# demands = ["randomness"]
# ///
"""Inductor's Python wrapper defines default_stream where it enters the device of a CUDA kernel. A function that
opens a side stream but computes on the CPU has no such place, and the code that leaves the side stream uses the
name all the same. Correct: the square of the random numbers, as in eager, where a stream does not matter to the
CPU. As reported: NameError, name 'default_stream' is not defined, at the call of the compiled function. Source:
pytorch issue 194234.
"""

import torch


def squares() -> tuple[torch.Tensor, torch.Tensor]:
    side = torch.cuda.Stream()
    x = torch.randn(2, 2)
    with side:
        z = x * x
    return x, z


def test_cpu_work_in_a_side_stream(backend: str) -> None:
    for run in (squares, torch.compile(squares, backend=backend)):  # eager is the control
        x, z = run()
        torch.testing.assert_close(z, x * x)


if __name__ == "__main__":
    test_cpu_work_in_a_side_stream("inductor")
