# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197554"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "ceil and round of bool and glu of int8 are computed where eager refuses them"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = '(torch\.bool was computed: eager has no kernel for it, got \[True, False\]|int8 was computed: eager has no kernel for it, got \[\[0\.1192\d*\], \[2\.946\d*\]\])'
# ///
"""Eager has no kernel for these dtypes and says so. Inductor's lowerings (ceil and round as the identity on
integral types) and the decomposition of glu do not check the dtype, and the meta functions accept it, so the
compiled function returns a value. Correct: an error, as in eager.
Source: pytorch issue 197554.
"""

import torch


def expect_refusal(function, x: torch.Tensor, backend: str) -> None:
    try:
        result = torch.compile(lambda t: function(t), backend=backend)(x).tolist()
    except Exception as error:
        assert "not implemented for" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"{function.__name__} of {x.dtype} was computed: eager has no kernel for it, got {result}")


def test_ceil_of_bool(device: str, backend: str) -> None:
    expect_refusal(torch.ceil, torch.tensor([True, False], device=device), backend)


def test_round_of_bool(device: str, backend: str) -> None:
    expect_refusal(torch.round, torch.tensor([True, False], device=device), backend)


def test_glu_of_int8(device: str, backend: str) -> None:
    x = torch.tensor([[1, -2], [3, 4]], dtype=torch.int8, device=device)
    expect_refusal(torch.nn.functional.glu, x, backend)


if __name__ == "__main__":
    test_ceil_of_bool("cpu", "inductor")
    test_round_of_bool("cpu", "inductor")
    test_glu_of_int8("cpu", "inductor")
