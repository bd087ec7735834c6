# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/163064"
# fix = "https://github.com/pytorch/pytorch/pull/185412"
# title = "Compiled, moved to a device, compiled again, called with a CPU input: obscure error or crash"
# component = "dynamo"
# symptom = "internal-error"
# # More graphs since torch 2.12: the cast is seen by the guards, and the module is compiled again.
# devices = ["cpu", "cuda"]
# demands = ["training"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# check = "test_call_before_move"
# device = "cpu"
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "a CPU input was accepted"
#
# [[tool.pt2bugs.bug]]
# check = "test_call_before_move"
# device = "cpu"
# torch = ">=2.5,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Unhandled FakeTensor Device Propagation for aten.(mm|addmm).*, found two different devices"
#
# [[tool.pt2bugs.bug]]
# check = "test_compile_only"
# device = "cpu"
# torch = ">=2.1,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Unhandled FakeTensor Device Propagation for aten.(mm|addmm).*, found two different devices"
#
# [[tool.pt2bugs.bug]]
# check = "test_compile_only"
# device = "cpu"
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# # Torch 2.0 says no more than the line of the program.
# match = '^\s*from user code:\n[^\n]+\n\s+return self\.linear\(x\)'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
#
# [[tool.pt2bugs.bug]]
# check = "test_call_before_cast"
# torch = ">=2.2,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 4\.8\d+e\+19 '
# ///
"""Module.to(accelerator) changes parameters in place: the same Parameter objects with other data. Guards that
watch the module only let the second compilation reuse the kernel of the first, which then reads device memory
as host memory: the report's process died of it. Without a first call, tracing stops in FakeTensor's device
propagation instead of saying what is wrong. Correct: eager's error, tensors on different devices, both times.
On "cpu" the target is meta: there .to() makes new Parameters, so a reused kernel silently answers with the
old ones. The cast to double, in place again, shows the reuse on a CPU: a kernel that reads float64 data as
float32. Correct there: the refusal or the value of eager. Refused calls capture no graph (compiles = false).
Source: pytorch issue 163064, PR 185412 (the clear error).
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(10, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def is_clear(error: BaseException) -> bool:
    return "on the same device" in str(error) or "not on the expected device" in str(error)


def move_and_call(device: str, backend: str, call_before: bool) -> None:
    torch.manual_seed(0)
    model, x = Model(), torch.randn(1, 10, requires_grad=True)
    first = torch.compile(model, backend=backend)
    if call_before:
        torch.testing.assert_close(first(x), model(x))
    model.to("meta" if device == "cpu" else device)
    for run in (model, torch.compile(model, backend=backend)):  # eager is the control
        try:
            run(x)
        except RuntimeError as error:
            if not is_clear(error):
                raise
        else:
            raise AssertionError("a CPU input was accepted by a module that is on another device")


def test_compile_only(device: str, backend: str) -> None:
    move_and_call(device, backend, call_before=False)


def test_call_before_move(device: str, backend: str) -> None:
    move_and_call(device, backend, call_before=True)


def test_call_before_cast(device: str, backend: str) -> None:
    torch.manual_seed(0)
    model, x = Model().to(device), torch.randn(1, 10, requires_grad=True, device=device)
    expected = model(x)
    torch.testing.assert_close(torch.compile(model, backend=backend)(x), expected)
    model.double()
    try:
        actual = torch.compile(model, backend=backend)(x)
    except RuntimeError as error:
        if "dtype" not in str(error):
            raise
    else:
        torch.testing.assert_close(actual, expected, check_dtype=False)


if __name__ == "__main__":
    test_compile_only("cpu", "inductor")
    test_call_before_move("cpu", "inductor")
    test_call_before_cast("cpu", "inductor")
