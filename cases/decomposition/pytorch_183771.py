# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183771"
# fix = "https://github.com/pytorch/pytorch/pull/184553"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Nearest interpolation of a permuted input comes out contiguous"
# component = "decomposition"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(420, 210, 42, 7, 1\\), not \\(420, 1, 84, 14, 2\\)"
# ///
"""The kernel of nearest interpolation keeps the memory format of its input: channels last in, channels last out. The
decomposition gathers by index and restores the format for inputs with four dimensions only; with five the result
is contiguous. Correct: values and strides of eager. Source: pytorch issue 183771.
"""

import torch


def enlarge(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.interpolate(x, size=(5, 6, 7), mode="nearest")


def test_memory_format_is_kept(device: str, backend: str) -> None:
    x = torch.arange(120.0, device=device).reshape(2, 5, 2, 3, 2).permute(0, 4, 1, 2, 3)
    actual, expected = torch.compile(enlarge, backend=backend)(x), enlarge(x)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert actual.stride() == expected.stride(), f"strides {actual.stride()}, not {expected.stride()}"


if __name__ == "__main__":
    test_memory_format_is_kept("cpu", "aot_eager")
