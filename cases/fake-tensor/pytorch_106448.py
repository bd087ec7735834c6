# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/106448"
# fix = "https://github.com/pytorch/pytorch/pull/106572"
# title = "A dot product of unequal lengths is accepted on meta tensors"
# component = "fake-tensor"
# symptom = "missing-error"
# devices = ["cpu"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'a dot product of 3 and 5 elements has shape \(\)'
# ///
"""The meta function of dot did not compare the lengths of its arguments. Correct: the RuntimeError that the real
operator raises, for fake tensors too.
Source: pytorch issue 106448.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def test_unequal_lengths_are_refused() -> None:
    with FakeTensorMode():
        left, right = torch.zeros(3), torch.zeros(5)
        try:
            actual = left @ right
        except RuntimeError:
            return
    raise AssertionError(f"a dot product of 3 and 5 elements has shape {tuple(actual.shape)}")


if __name__ == "__main__":
    test_unequal_lengths_are_refused()
