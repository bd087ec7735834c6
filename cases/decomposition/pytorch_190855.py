# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/190855"
# title = "The Hessian of a function with torch.trace is wrong"
# component = "decomposition"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.11.0"
# devices = ["cpu"]
# requires-torch = ">=2.6"
# labels = ["functorch"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the Hessian is \[\[4\.0, 2\.0, 2\.0, 2\.0\], \[2\.0, 4\.0, 2\.0, 2\.0\], \[2\.0, 2\.0, 4\.0, 2\.0\], \[2\.0, 2\.0, 2\.0, 4\.0\]\]'
# ///
"""The reference of trace is the sum of diag, whose derivative scatters into a diagonal of zeros. Under the outer
forward mode the diagonal is lost: the scalar is added everywhere. Correct: eager's second derivatives.
Source: pytorch issue 190855.
"""

import torch


def energy(x: torch.Tensor) -> torch.Tensor:
    return torch.trace(x) ** 2 + (x**2).sum()


def test_second_derivative_of_a_trace(device: str, backend: str) -> None:
    x = torch.arange(4.0, dtype=torch.float64, device=device).reshape(2, 2)
    hessian = torch.compile(torch.func.hessian(energy), backend=backend)(x).reshape(4, 4).tolist()
    expected = [[4.0, 0.0, 0.0, 2.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [2.0, 0.0, 0.0, 4.0]]
    assert hessian == expected, f"the Hessian is {hessian}"


if __name__ == "__main__":
    test_second_derivative_of_a_trace("cpu", "inductor")
