# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183767"
# title = "asinh of large floats is infinite"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-24
# reported-on = "2.13.0.dev20260513"
# fix = "https://github.com/pytorch/pytorch/pull/184105"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "asinh is infinite for 24 of 32 finite arguments"
# ///
"""The vectorized asinh, of the library SLEEF, overflows float32 for large arguments. Eager calls a function of the
math library that does not. Correct: about the logarithm of twice the argument.
Source: pytorch issue 183767; PR 184105, for issue 152299, takes another formula.
"""

import torch


def inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.asinh(x)


def test_large_arguments(device: str, backend: str) -> None:
    x = torch.tensor([3e22, 7e25, 8e23, 1e10] * 8, device=device)
    values = torch.compile(inverse, backend=backend)(x)
    infinite = int(values.isinf().sum())
    assert infinite == 0, f"asinh is infinite for {infinite} of 32 finite arguments"
    torch.testing.assert_close(values, inverse(x.double()).float())


if __name__ == "__main__":
    test_large_arguments("cpu", "inductor")
