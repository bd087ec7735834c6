# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147256"
# fix = "https://github.com/pytorch/pytorch/pull/177527"
# title = "LayerNorm takes complex numbers where eager refuses them"
# component = "decomposition"
# symptom = "missing-error"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager_decomp_partition"]
# labels = ["complex"]
# demands = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'LayerNorm of complex numbers gives torch\.complex64, eager refuses them'
# ///
"""Eager has no layer norm of complex numbers. The decomposition is written in mean and variance, which exist for them.
Correct: eager's refusal.
Source: pytorch issue 147256.
"""

import torch


def test_complex_numbers_are_refused(backend: str) -> None:
    module = torch.nn.LayerNorm([4])
    compiled = torch.compile(lambda x: module(x), backend=backend)
    with torch.no_grad():
        compiled(torch.arange(4.0))
        try:
            out = compiled(torch.arange(4.0) + 1j)
        except Exception as error:
            text = str(error).lower()
            assert "complex" in text or "mixed dtype" in text, f"complex numbers are refused by {text}"
        else:
            raise AssertionError(f"LayerNorm of complex numbers gives {out.dtype}, eager refuses them")


if __name__ == "__main__":
    test_complex_numbers_are_refused("aot_eager_decomp_partition")
