# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/182652"
# title = "A shape made of the elements of an integer tensor cannot be used under fake tensors"
# component = "fake-tensor"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Failed running call_function <class 'torch\\.Size'>\\(\\*\\(FakeTensor\\(\\.\\.\\., size=\\(\\d+,\\), dtype=torch"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "torch\\.Size\\(\\) takes an iterable of 'int' \\(item \\d+ is 'FakeTensor'\\)"
# ///
"""torch.Size of a tensor breaks the graph in Dynamo, but the tensor's values are taken from the fake one then. Correct:
eager's shape.
Source: pytorch issue 182652; the program is a reduction of our own.
"""

import torch


def reshaped(x: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    return torch.reshape(x, torch.Size(shape))


def test_shape_from_a_tensor(device: str, backend: str) -> None:
    x, shape = torch.arange(128.0, device=device).reshape(1, 8, 4, 4), torch.tensor([1, 8, -1])
    torch.testing.assert_close(torch.compile(reshaped, backend=backend)(x, shape), reshaped(x, shape))


if __name__ == "__main__":
    test_shape_from_a_tensor("cpu", "aot_eager")
