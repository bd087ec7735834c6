# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/190171"
# fix = "https://github.com/pytorch/pytorch/pull/190185"
# title = "An attribute of a compiled bound method cannot be read while tracing"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = 'expected FunctionType found method <bound method Counter\.next of <pt\d+bugs_case_pytorch_\d+'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'function' object has no attribute '__func__'"
# ///
"""torch.compile of a bound method gives a function, whose attributes Dynamo looks up as if it were the method. Correct: the
attribute is absent, as in eager.
Source: pytorch issue 190171, PR 190185.
"""

import torch


class Counter:
    def next(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_attribute_is_absent(device: str, backend: str) -> None:
    compiled_method = torch.compile(Counter().next, backend=backend)

    def next_or_same(x: torch.Tensor) -> torch.Tensor:
        return compiled_method(x) if getattr(compiled_method, "flag", None) is None else x

    value = torch.compile(next_or_same, backend=backend)(torch.zeros(1, device=device)).item()
    assert value == 1.0, f"0 + 1 is {value}"


if __name__ == "__main__":
    test_attribute_is_absent("cpu", "eager")
