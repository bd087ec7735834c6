# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/153605"
# fix = "https://github.com/pytorch/pytorch/pull/153659"
# title = "An absent attribute of a module is not caught by except AttributeError"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "module 'torch\\.nn\\.functional' has no attribute 'no_such_function'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*$'
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/builtin\.py:\d+ call_getattr\n\S+builtin\.py:\d+ call_function'
# ///
"""Reading an attribute that a Python module does not have raised AttributeError out of Dynamo instead of into the
traced function. Correct: the except clause runs.
Source: pytorch issue 153605.
"""

import torch
import torch.nn.functional as F


def absent_or_doubled(x: torch.Tensor) -> torch.Tensor:
    try:
        return F.no_such_function(x)
    except AttributeError:
        return x * 2


def test_except_clause_runs(device: str, backend: str) -> None:
    actual = torch.compile(absent_or_doubled, backend=backend)(torch.ones(1, device=device)).item()
    assert actual == 2.0, f"result is {actual}"


if __name__ == "__main__":
    test_except_clause_runs("cpu", "eager")
