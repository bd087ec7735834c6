# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197887"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "inductor loses autograd's \"modified by an inplace operation\" check"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 9 / 9 \([\d.]+%\)\nGreatest absolute difference: 197\.0 '
# ///
"""Autograd refuses a backward whose saved tensor was overwritten since, by comparing version counters. The
backward of a matrix product saves a transposed view of the input, which Inductor rebuilds from the raw
storage: a new tensor with its own counter, which never sees the write. The gradient is then computed from the
overwritten values. Correct: raise as eager does, or give the gradient of the values of the forward pass.
Source: issue 197887.
"""

import torch


def test_overwritten_input_is_noticed(device: str, backend: str) -> None:
    def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x @ w

    def gradient(function, overwrite: bool) -> torch.Tensor:
        x = torch.arange(6.0, device=device).reshape(2, 3)
        w = torch.eye(3, device=device).requires_grad_()
        y = function(x, w)
        if overwrite:
            x.fill_(100)
        y.sum().backward()
        return w.grad

    def accepted_or_none(function):
        try:
            return gradient(function, overwrite=True)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            return None

    expected = gradient(product, overwrite=False)
    assert accepted_or_none(product) is None
    result = accepted_or_none(torch.compile(product, backend=backend))
    if result is not None:
        torch.testing.assert_close(result, expected)


if __name__ == "__main__":
    test_overwritten_input_is_noticed("cpu", "inductor")
