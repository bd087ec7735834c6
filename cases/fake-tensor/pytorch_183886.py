# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183886"
# title = "istft beyond the end of the signal fails with fake tensors"
# component = "fake-tensor"
# symptom = "internal-error"
# upstream = "closed"
# upstream-seen = 2026-11-24
# fix = "https://github.com/pytorch/pytorch/pull/184532"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["complex"]
# demands = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'data dependent operator: aten\.equal\.default'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <built\-in method istft of type object at \d+x\.\.\.>\(\*\(FakeTensor\('
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Dynamo failed to run FX node with fake tensors: call_function <built\-in method istft of ty'
# ///
"""The Python reference of istft, which fake tensors go through, cuts the overlapped signal to the length by a narrow,
which does not go beyond the end. The real kernel pads with zeros. Correct: eager's signal with zeros at its end. The check compiles in one
graph, since torch 2.0, which cannot trace istft at all, leaves it out of the graph.
Source: pytorch issue 183886, PR 184532.
"""

import torch


def signal(spectrum: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
    return torch.istft(spectrum, n_fft=64, hop_length=32, window=window, length=352)


def test_length_beyond_the_signal(device: str, backend: str) -> None:
    torch.manual_seed(0)
    spectrum = torch.view_as_complex(torch.randn(1, 33, 10, 2, device=device))
    window = torch.hann_window(64, device=device)
    actual = torch.compile(signal, backend=backend, fullgraph=True)(spectrum, window)
    torch.testing.assert_close(actual, signal(spectrum, window))


if __name__ == "__main__":
    test_length_beyond_the_signal("cpu", "eager")
