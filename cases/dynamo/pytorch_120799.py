# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/120799"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A tensor subclass whose __torch_function__ is a plain method cannot be compiled"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["subclass"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'TensorWithTFOverrideVariable' object has no attribute 'value_type'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "UserDefinedObjectVariable\\(Tagged\\) is not a constant"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/misc\.py:\d+ call_function'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'Tagged' object has no attribute '__mro__'"
# ///
"""__torch_function__ should be a classmethod; eager warns about a plain one and calls it, bound to the tensor. Tracing
the override on a subclass, Dynamo binds it to the class it has for classmethods, and asks the tensor's variable for
something it has not got. Correct: the override runs as in eager, and the result is the sum; releases that do not
trace the override leave no graph, hence compiles = false. Source: pytorch issue 120799.
"""

import torch


class Tagged(torch.Tensor):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def increment(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_plain_method_override(device: str, backend: str) -> None:
    x = torch.ones(2, device=device).as_subclass(Tagged)
    actual = torch.compile(increment, backend=backend)(x)
    assert actual.tolist() == [2.0, 2.0], actual.tolist()


if __name__ == "__main__":
    test_plain_method_override("cpu", "eager")
