# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/177630"
# fix = "https://github.com/pytorch/pytorch/pull/177696"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A batched product of float16 with float32 is accepted"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# backends = ["inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled product of float16 and float32 accepted"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# blocked = true
# outcome = "raise"
# error = "RuntimeError"
# match = "\"bmm\" not implemented for 'Half'"
# ///
"""A matrix product wants one dtype, and the kernel of bmm checks it; its meta kernel did not. Traced, the mixed pair
passes, and Inductor's decomposition of bmm casts its inputs to the dtype it computes in, so no kernel sees the
difference. Correct: refused, as in eager. Source: pytorch issue 177630, PR 177696.
"""

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b)


def is_refused(fn, a: torch.Tensor, b: torch.Tensor) -> bool:
    try:
        fn(a, b)
    except Exception as error:
        if "dtype" not in str(error) and "scalar type" not in str(error):
            raise
        return True
    return False


def test_mixed_dtypes_are_refused(device: str, backend: str) -> None:
    a, b = torch.ones(2, 3, 4, device=device), torch.ones(2, 4, 5, device=device)
    compiled = torch.compile(product, backend=backend)
    torch.testing.assert_close(compiled(a, b), product(a, b))
    assert is_refused(product, a.half(), b), "eager accepts mixed dtypes"
    assert is_refused(compiled, a.half(), b), "compiled product of float16 and float32 accepted"


if __name__ == "__main__":
    test_mixed_dtypes_are_refused("cpu", "inductor")
