# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145522"
# title = "fft_hfft2 with out= has another shape under FakeTensorMode"
# component = "fake-tensor"
# symptom = "wrong-result"
# devices = ["cpu"]
# compiles = false
# labels = ["complex"]
# demands = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the fake result has shape \(5, 6, 7\), the real one \(5, 3, 10\)'
# ///
"""The meta kernel of hfft2 with an out tensor resizes it to the size of the input's dimensions, not to that of the
argument s. Correct: the shape that the real kernel gives.
Source: pytorch issue 145522.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def transformed() -> torch.Tensor:
    x, out = torch.ones(5, 6, 7), torch.empty(5, 3, 10)
    return torch._C._fft.fft_hfft2(x, s=(3, 10), dim=(1, 2), norm="ortho", out=out)


def test_shape_with_sizes_and_out() -> None:
    real = tuple(transformed().shape)
    with FakeTensorMode():
        fake = tuple(transformed().shape)
    assert fake == real, f"the fake result has shape {fake}, the real one {real}"


if __name__ == "__main__":
    test_shape_with_sizes_and_out()
