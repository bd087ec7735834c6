# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/156720"
# title = "aten.view with a shape of 0-dim integer tensors is refused under FakeTensorMode"
# component = "fake-tensor"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function aten\.view\.default\(\*\(FakeTensor\(\.\.\., size=\(\d+,\)\), \[FakeTensor\(\.'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Dynamo failed to run FX node with fake tensors: call_function aten\.view\.default\(\*\(FakeTens'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'from user code'
# frame = 'utils\.py:\d+ get_fake_value'
# blocked = true
# ///
"""A call of an operator overload from Python converts 0-dim integer tensors in a list of ints. A fake one has no
value to convert, although these hold constants of the inputs. Correct: eager's view, by a graph break if need be.
Source: pytorch issue 156720.
"""

import torch


def reshaped(x: torch.Tensor, shape: list[torch.Tensor]) -> torch.Tensor:
    return torch.ops.aten.view.default(x + 1, shape)


def test_shape_of_tensors(device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device)
    shape = [torch.tensor(size, dtype=torch.int32) for size in (2, 3)]
    actual = torch.compile(reshaped, backend=backend)(x, shape)
    torch.testing.assert_close(actual, (x + 1).reshape(2, 3), rtol=0, atol=0)


if __name__ == "__main__":
    test_shape_of_tensors("cpu", "eager")
