# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/90507"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An output reshaped in place by unsqueeze_ cannot be written to"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "RuntimeError"
# match = 'Output 0 of CompiledFunction(Backward)? is a view and is being modified inplace'
# ///
"""Functionalization turns out.unsqueeze_(0) into an out-of-place view of the intermediate, and the compiled
autograd.Function returns that view; autograd refuses in-place writes to views that a custom Function
returns. In eager the output is no view at all. Correct: the caller may write to it, and the gradient is
as in eager. Source: issue 90507.
"""

import torch


def reshaped(x: torch.Tensor) -> torch.Tensor:
    out = x * 2
    out.unsqueeze_(0)
    return out


def test_write_to_output(device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device, requires_grad=True)
    expected = reshaped(x)
    actual = torch.compile(reshaped, backend=backend)(x)
    assert not expected._is_view()
    for out in (expected, actual):
        out.mul_(3)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(torch.autograd.grad(actual.sum(), x), torch.autograd.grad(expected.sum(), x))


if __name__ == "__main__":
    test_write_to_output("cpu", "aot_eager")
