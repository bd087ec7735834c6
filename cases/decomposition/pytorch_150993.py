# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150993"
# fix = "https://github.com/pytorch/pytorch/pull/177696"
# same-fix = "pytorch_177630"
# title = "A product of half and float matrices is computed where eager refuses it"
# component = "decomposition"
# symptom = "missing-error"
# upstream = "open"
# upstream-seen = 2026-11-24
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'half @ float gives torch\.float32, eager refuses it'
# ///
"""Eager's batched product asks for one dtype. The fake kernel checked shapes alone, and Inductor's lowering of a
small product promotes. Correct: the RuntimeError of eager.
Source: pytorch issue 150993.
"""

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def test_half_times_float(device: str, backend: str) -> None:
    a, b = torch.ones(2, 3, 4, device=device), torch.ones(2, 4, 3, device=device)
    compiled = torch.compile(product, backend=backend)
    torch.testing.assert_close(compiled(a, b), product(a, b))
    try:
        out = compiled(a.half(), b)
    except Exception as error:
        assert "dtype" in str(error) or "scalar type" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"half @ float gives {out.dtype}, eager refuses it")


if __name__ == "__main__":
    test_half_times_float("cpu", "inductor")
