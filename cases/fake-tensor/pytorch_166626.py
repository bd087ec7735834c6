# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/166626"
# fix = "https://github.com/pytorch/pytorch/pull/177524"
# title = "FakeTensor refuses an in-place add whose right-hand side is on meta"
# component = "fake-tensor"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = { test_fake_mode = [], test_compile = ["mutation"], test_out_of_place_is_refused = [] }
# compiles = false
#
# [[tool.pt2bugs.bug]]
# check = "test_fake_mode"
# torch = ">=2.1,<2.12"
# outcome = "raise"
# error = "RuntimeError"
# match = "Propagation for aten\\.add_\\.Tensor, found two different devices (cpu|cuda:\\d+), meta"
#
# [[tool.pt2bugs.bug]]
# check = "test_compile"
# torch = ">=2.1,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Propagation for aten\\.add_\\.Tensor, found two different devices (cpu|cuda:\\d+), meta"
# ///
"""An in-place operator keeps its destination's device, so eager takes a.add_(b) with b on meta and leaves a
where, and as, it is. FakeTensor looked for one device common to all arguments and refused the pair, under
FakeTensorMode as in Dynamo's tracing (torch 2.0 accepted it). The fix allows the pair for add_ itself; what
must still be refused is the out-of-place add (the guard check). Correct: as in eager.
The torch.compile check uses fullgraph=True, so that it cannot pass by falling back to eager. What backends on
AOTAutograd make of the pair: aotautograd_in_place_add_meta. Source: pytorch issue 166626, PR 177524.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def add_in_place(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.add_(b)


def pair(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(3, device=device), torch.ones(3, device="meta")


def test_fake_mode(device: str) -> None:
    expected = add_in_place(*pair(device))
    with FakeTensorMode():
        result = add_in_place(*pair(device))
    assert result.device == expected.device, result.device


def test_compile(device: str, backend: str) -> None:
    expected = add_in_place(*pair(device))
    a, b = pair(device)
    actual = torch.compile(add_in_place, backend=backend, fullgraph=True)(a, b)
    assert actual is a
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_out_of_place_is_refused(device: str) -> None:
    with FakeTensorMode():
        a, b = pair(device)
        try:
            result = torch.add(a, b)
        except RuntimeError as error:
            if "two different devices" not in str(error) and "on the same device" not in str(error):
                raise
        else:
            raise AssertionError(f"an add of {a.device} and {b.device} was accepted: {result}")


if __name__ == "__main__":
    test_fake_mode("cpu")
    test_compile("cpu", "eager")
    test_out_of_place_is_refused("cpu")
