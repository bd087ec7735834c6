# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/151202"
# fix = "https://github.com/pytorch/pytorch/pull/165473"
# title = "torch.set_default_device is ignored by torch.randn in compiled code"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Unhandled FakeTensor Device Propagation for aten.mul.Tensor, found two different devices meta, cpu"
# ///
"""set_default_device works by a torch-function mode that adds the device to the arguments of factory functions.
Dynamo traces the mode, but in the trace torch.randn goes through it without the device and makes a CPU
tensor, and mixing that with a tensor on the default device is refused by the fake tensors. Correct: the
default device. Shown with "meta" as the default.
Source: pytorch issue 151202, PR 165473.
"""

import torch


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x * torch.randn(1)


def test_randn_on_the_default_device(backend: str) -> None:
    torch.set_default_device("meta")
    try:
        result = torch.compile(noisy, backend=backend)(torch.ones(1))
    finally:
        torch.set_default_device(None)
    assert result.device.type == "meta", f"the result is on {result.device}"


if __name__ == "__main__":
    test_randn_on_the_default_device("eager")
