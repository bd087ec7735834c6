# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/171673"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Non-strict export of stft with a dynamic time dimension: assertion in prettify_results"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["complex"]
# demands = []
# compiles = false
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.11"
# outcome = "raise"
# error = "AssertionError"
# match = "^time <= "
# frame = 'torch/fx/experimental/symbolic_shapes\.py:\d+ prettify_results'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# blocked = true
# outcome = "raise"
# error = "torch._subclasses.fake_tensor.UnsupportedOperatorException"
# match = "aten._fft_r2c.default"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = "dynamic shape NYI"
# ///
"""Tracing stft and the transposed convolution bounds the number of frames, and with it the time dimension
that was declared free. Export collects such findings to report them, but the code that prettifies them knew
equalities only, and an inequality ("time <= ...") ended in a bare internal AssertionError. Correct: a program
that equals eager, or a UserError that names the violated constraint and the dimension.
Older releases stop before: non-strict export without dynamic shapes, then an FFT operator without a meta
kernel that could deal with them. Source: pytorch issue 171673 (and 135087 for the operator).
"""

import re

import torch
from torch import nn
from torch._dynamo.exc import UserError


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(320))
        self.deconv = nn.ConvTranspose2d(2, 3, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        options = dict(n_fft=512, hop_length=160, win_length=320, window=self.window)
        spectrum = torch.stft(x, **options, return_complex=True, pad_mode="constant")
        return self.deconv(torch.view_as_real(spectrum).permute(0, 3, 1, 2))


def test_dynamic_batch_and_time(device: str) -> None:
    torch.manual_seed(0)
    model = Model().eval().to(device)
    x = torch.randn(2, 16000, device=device)
    expected = model(x)
    dims = {0: torch.export.Dim("batch"), 1: torch.export.Dim("time")}
    try:
        program = torch.export.export(model, (x,), dynamic_shapes={"x": dims}, strict=False)
    except UserError as error:
        if not re.search(r"Constraints violated \(.*time.*\)", str(error)):
            raise
    else:
        torch.testing.assert_close(program.module()(x), expected)


if __name__ == "__main__":
    test_dynamic_batch_and_time("cpu")
