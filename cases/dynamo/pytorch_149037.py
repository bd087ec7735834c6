# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/149037"
# fix = "https://github.com/pytorch/pytorch/pull/185769"
# title = "The value of `yield from` is not the inner generator's return value"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["generator"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "TensorVariable\\(\\) is not a constant"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "unsupported operand type\\(s\\) for \\+: 'FakeTensor' and 'NoneType'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.13"
# outcome = "raise"
# error = "AssertionError"
# match = "Cannot construct `ConstantVariable` for value of type <class 'torch\\._dynamo\\.variables\\.tensor\\.TensorVariable'>"
#
# [[tool.pt2bugs.bug]]
# torch = "~=2.13.0"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "unsupported operand type\\(s\\) for \\+: 'FakeTensor' and 'NoneType'"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/base\.py:\d+ as_python_constant\ntorch/_dynamo/symbolic_convert\.py:\d+ inline_call_'
# ///
"""`value = yield from inner()` binds what inner returns, carried by StopIteration. Dynamo dropped it: the expression
was None, or the tensor was put into a constant, which is refused. Correct: a tensor returned by the
inner generator arrives. Source: pytorch issue 149037, PR 185769.
"""

from collections.abc import Iterator

import torch


def inner(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x
    return x + 5


def outer(x: torch.Tensor) -> Iterator[torch.Tensor]:
    last = yield from inner(x)
    yield last


def both(x: torch.Tensor) -> torch.Tensor:
    first, last = outer(x)
    return first + last


def test_return_value_arrives(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device)
    actual = torch.compile(both, backend=backend)(x)
    torch.testing.assert_close(actual, both(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_return_value_arrives("cpu", "eager")
