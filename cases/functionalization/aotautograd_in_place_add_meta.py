# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/166626"
# title = "Functionalized, an in-place add of a meta tensor is refused as the out-of-place add"
# component = "functionalization"
# symptom = "backend-failure"
# found-beside = "https://github.com/pytorch/pytorch/issues/166626"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Propagation for aten.add.Tensor, found two|on the same device, but found at least two .*, \\S+ and meta"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Propagation for aten.add.Tensor, found two different devices"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.12"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Unhandled FakeTensor Device Propagation for aten.add_.Tensor"
# ///
"""a.add_(b) keeps the device of a, so eager takes it with b on meta. Functionalization rewrites it into the
out-of-place add of the same pair, and FakeTensor rightly refuses that: it has no destination to take the
device from. From torch 2.1 to 2.11 Dynamo's own tracing stops before (pytorch_166626); fullgraph=True, so
that the check cannot pass by falling back to eager. Correct: as in eager, where a is returned.
Source: pytorch issue 166626; PR 177524 allowed add_ itself only.
"""

import torch


def add_in_place(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.add_(b)


def test_add_meta_in_place(device: str, backend: str) -> None:
    a, b = torch.ones(3, device=device), torch.ones(3, device="meta")
    expected = add_in_place(a.clone(), b)
    actual = torch.compile(add_in_place, backend=backend, fullgraph=True)(a, b)
    assert actual is a
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_add_meta_in_place("cpu", "aot_eager")
