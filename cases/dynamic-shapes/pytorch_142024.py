# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/142024"
# fix = "https://github.com/pytorch/pytorch/pull/143365"
# title = "An unbacked size of 1 as an input: the strides ask for the size"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.6"
# labels = ["mark-unbacked"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'Could not guard on data\-dependent expression u\d+ > \d+ \(unhinted: u\d+ > \d+\)\.  \(Size\-like symbol'
# ///
"""For an input with an unbacked size the fake tensor gets symbolic strides with a maximum in them. The product with a
broadcast operand compares these strides, which depends on the size. Correct: eager's product.
Source: pytorch issue 142024.
"""

import torch


def scaled(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return x * rows.unsqueeze(1)


def test_unbacked_columns(device: str, backend: str) -> None:
    x = torch.tensor([[2.0], [3.0]], device=device)
    torch._dynamo.decorators.mark_unbacked(x, 1)
    rows = torch.tensor([5.0, 7.0], device=device)
    actual = torch.compile(scaled, backend=backend, fullgraph=True)(x, rows)
    torch.testing.assert_close(actual, torch.tensor([[10.0], [21.0]], device=device), rtol=0, atol=0)


if __name__ == "__main__":
    test_unbacked_columns("cpu", "eager")
