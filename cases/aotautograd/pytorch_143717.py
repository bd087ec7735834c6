# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143717"
# fix = "https://github.com/pytorch/pytorch/pull/183859"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.6.0.dev20241218"
# title = "In-place true division on an integer tensor is accepted"
# component = "aotautograd"
# symptom = "missing-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = 'in-place true division of int64 accepted, gave \[3, 2\]'
# ///
"""Functionalization turns x.div_(y) into an out-of-place division, whose result is float32, followed by
copy_ into the input. copy_ casts silently, so the type rule of the in-place op (a float result can't be
stored in an int64 tensor) is lost, and the quotient is truncated. Correct: raise as eager does. Source:
issue 143717.
"""

import torch


def divide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.div_(y)


def must_raise(fn, device: str) -> None:
    x, y = torch.tensor([7, 4], device=device), torch.tensor([2, 2], device=device)
    try:
        fn(x, y)
    except Exception as error:
        if "can't be cast" not in str(error):
            raise
    else:
        raise AssertionError(f"in-place true division of int64 accepted, gave {x.tolist()}")


def test_in_place_int_division(device: str, backend: str) -> None:
    compiled = torch.compile(divide, backend=backend)
    y = torch.tensor([2.0, 4.0], device=device)
    torch.testing.assert_close(compiled(torch.ones(2, device=device), y), 1 / y)
    must_raise(divide, device)
    must_raise(compiled, device)


if __name__ == "__main__":
    test_in_place_int_division("cpu", "aot_eager")
