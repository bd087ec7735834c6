# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/157945"
# fix = "https://github.com/pytorch/pytorch/pull/158190"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The first two results of linalg.svd cannot be taken as a slice"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "VariableTracker\\.__init__\\(\\) got an unexpected keyword argument 'dynamic_attributes'"
# ///
"""The result is a named tuple. A slice of it is made by a copy of Dynamo's variable with the fields of a named tuple, which
the constructor of a plain tuple does not take. Correct: the product of the parts.
Source: pytorch issue 157945; a regression test of PyTorch's names it.
"""

import torch


def compressed(x: torch.Tensor) -> torch.Tensor:
    left, values = torch.linalg.svd(x)[:2]
    return left[:, :, :2] @ torch.diag_embed(values[:, :2])


def test_slice_of_a_named_tuple(device: str, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 3, device=device)
    torch.testing.assert_close(torch.compile(compressed, backend=backend)(x), compressed(x))


if __name__ == "__main__":
    test_slice_of_a_named_tuple("cpu", "eager")
