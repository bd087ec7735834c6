# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114019"
# fix = "https://github.com/pytorch/pytorch/pull/114066"
# title = "An object with __call__ that is made in the compiled function cannot be called"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function UserDefinedObjectVariable\(Shift\) \[TensorVariable\(\)\] \{\}'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'NoneType' object has no attribute 'make_guard'"
# blocked = true
# ///
"""The object has no source that a guard could name, and the call of such an object was not traced.
Correct: one graph.
Source: pytorch issue 114019; a regression test of PyTorch's names it.
"""

import torch


class Shift:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def shifted(x: torch.Tensor) -> torch.Tensor:
    return Shift()(x)


def test_new_object_is_called(device: str, backend: str) -> None:
    value = torch.compile(shifted, backend=backend, fullgraph=True)(torch.zeros(1, device=device)).item()
    assert value == 1.0, f"0 + 1 is {value}"


if __name__ == "__main__":
    test_new_object_is_called("cpu", "eager")
