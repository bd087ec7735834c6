# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198307"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "quantize_per_tensor of a transposed tensor: Inductor expects the input's strides"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cpu"]
# labels = ["quantization"]
# requires-torch = ">=2.3"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12"
# outcome = "raise"
# error = "AssertionError"
# match = "expected size 4==4, stride 4==1 at dim=0[\\s\\S]*aten.quantize_per_tensor"
# ///
"""quantize_per_tensor gives a contiguous tensor whatever the strides of its input are. The fake kernel, by which the
compiler predicts outputs, keeps the strides of a transposed input. Inductor calls the real operator as a fallback and
checks its result against the prediction, which fails at run time. Correct: the contiguous quantized tensor of eager.
Source: pytorch issue 198307.
"""

import torch


def quantize(x: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(x + 1, 1.0, 0, torch.quint8)


def test_quantized_transposed_matrix(device: str, backend: str) -> None:
    x = torch.arange(16.0, device=device).view(4, 4).t()
    actual, expected = torch.compile(quantize, backend=backend)(x), quantize(x)
    assert actual.stride() == expected.stride(), f"strides {actual.stride()}, not {expected.stride()}"
    assert torch.equal(actual.int_repr(), expected.int_repr())


if __name__ == "__main__":
    test_quantized_transposed_matrix("cpu", "inductor")
