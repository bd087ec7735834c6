# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/175953"
# fix = "https://github.com/pytorch/pytorch/pull/176268"
# title = "torch.tensor in compiled code ignores torch.set_default_device"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Propagation for aten\.add\.Tensor, found two different devices cpu, meta'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.5"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "`example_value` needs to be a `FakeTensor`"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ fake_wrapper'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Found in aten\\.add\\.Tensor\\(tensor\\(\\.\\.\\., device='meta'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12,<2.15"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Found in aten\\.add\\.Tensor\\(tensor\\(\\.\\.\\., device='meta'"
# ///
"""set_default_device works by a torch function mode that adds the device to factory calls. Dynamo traces
torch.tensor by itself and left the mode out, so the tensor is on the CPU and meets one on the default device. The
device meta shows it without an accelerator. Correct: a tensor on the default device. Source: pytorch issue 175953.
"""

import torch


def add_constant(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([1.0, -1.0]) + x


def test_constant_on_the_default_device(backend: str) -> None:
    torch.set_default_device("meta")
    try:
        x = torch.ones(2)
        actual = torch.compile(add_constant, backend=backend)(x).device.type
    finally:
        torch.set_default_device(None)
    assert actual == "meta", f"result is on {actual}"


if __name__ == "__main__":
    test_constant_on_the_default_device("eager")
