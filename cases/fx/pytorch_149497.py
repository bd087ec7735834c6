# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/149497"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "symbolic_trace of a wrapped forward with default arguments: co_varnames is too small"
# component = "fx"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "raise"
# error = "ValueError"
# match = "code: co_varnames is too small"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "ValueError"
# match = "code: varnames is too small"
# ///
"""To call forward with proxies, symbolic_trace rewrites the code object so that *args become plain parameters.
It counts the parameters of the wrapped function (inspect.unwrap), but rewrites the wrapper, whose code has no
names but args and kwargs. Correct: the traced module equals eager. Source: pytorch issue 149497.
"""

import functools

import torch


def wrapped(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    return wrapper


class Double(torch.nn.Module):
    @wrapped
    def forward(self, a: torch.Tensor, b=None, c=None, d=None, **options) -> torch.Tensor:
        return a * 2


def test_wrapped_forward(device: str) -> None:
    a = torch.ones(2, device=device)
    traced = torch.fx.symbolic_trace(Double())
    torch.testing.assert_close(traced(a, None, None, None), a * 2, rtol=0, atol=0)


if __name__ == "__main__":
    test_wrapped_forward("cpu")
