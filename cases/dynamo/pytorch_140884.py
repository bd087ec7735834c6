# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/140884"
# fix = "https://github.com/pytorch/pytorch/pull/185462"
# title = "NumPy code under a torch.device context calls a tensor method on an ndarray"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["numpy", "context-manager"]
# requires-torch = ">=2.1"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.15"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "'ndarray' object has no attribute 'ge'"
# ///
"""Under a torch function mode, which a device context is, Dynamo gave the wrapped NumPy operator the ndarray
itself instead of a tensor. Correct: NumPy's result.
Source: pytorch issue 140884.
"""

import numpy as np
import torch


def at_least_three(x: np.ndarray) -> np.ndarray:
    return x >= 3


def test_comparison_under_a_device(backend: str) -> None:
    with torch.device("cpu"):
        actual = torch.compile(at_least_three, backend=backend)(np.arange(5)).tolist()
    assert actual == [False, False, False, True, True], f"flags are {actual}"


if __name__ == "__main__":
    test_comparison_under_a_device("eager")
