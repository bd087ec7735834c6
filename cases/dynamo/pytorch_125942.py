# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/125942"
# fix = "https://github.com/pytorch/pytorch/pull/125943"
# title = "The __class__ of a NumPy array in issubclass() cannot be traced"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.1"
# labels = ["numpy"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "GetAttrVariable\\(NumpyNdarrayVariable\\(\\), __class__\\) is not a constant"
# ///
"""Dynamo stands a tensor in for a NumPy array and has tables for the attributes it can answer. __class__ is in none, so
it stays an unresolved attribute, and issubclass() asks it for a constant. Correct: __class__ is numpy.ndarray, as
type() of the same array is. Source: pytorch issue 125942.
"""

import numpy as np
import torch


def sign(array: np.ndarray, x: torch.Tensor) -> torch.Tensor:
    return x + 1 if issubclass(array.__class__, np.ndarray) else x - 1


def test_class_of_an_array(device: str, backend: str) -> None:
    x = torch.zeros(2, device=device)
    actual = torch.compile(sign, backend=backend)(np.ones(2), x)
    torch.testing.assert_close(actual, x + 1, rtol=0, atol=0)


if __name__ == "__main__":
    test_class_of_an_array("cpu", "eager")
