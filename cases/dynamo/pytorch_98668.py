# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/98668"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.0.0"
# title = "checkpoint_sequential does not take a compiled nn.Sequential"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["checkpoint"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "TypeError"
# match = "object of type 'OptimizedModule' has no len|'OptimizedModule' object is not subscriptable"
# ///
"""torch.compile wraps a module in an OptimizedModule, which passes attributes on to the module. Python looks special
methods up in the class, so what an nn.Sequential has of a list, its length and its slices, is gone, and
checkpoint_sequential cannot cut it into segments. Correct: the compiled module can be used in the place of the
module, and result and gradient are eager's. Source: pytorch issue 98668.
"""

import torch
from torch.utils.checkpoint import checkpoint_sequential


def test_compiled_sequential_in_segments(device: str, backend: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()).to(device)
    compiled = torch.compile(model, backend=backend)
    x = torch.ones(2, 3, device=device, requires_grad=True)
    expected = compiled(x)
    (expected_grad,) = torch.autograd.grad(expected.sum(), x)
    actual = checkpoint_sequential(compiled, 2, x, use_reentrant=False)
    actual.sum().backward()
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(x.grad, expected_grad)


if __name__ == "__main__":
    test_compiled_sequential_in_segments("cpu", "eager")
