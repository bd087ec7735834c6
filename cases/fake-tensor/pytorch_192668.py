# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/192668"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "FakeTensor strides of native_batch_norm for a permuted CPU input differ from the real kernel"
# component = "fake-tensor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# check = "test_strides"
# outcome = "wrong"
# error = "AssertionError"
# match = '^fake \(30, 1, 5\) real \(30, 6, 1\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# check = "test_view_of_result"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Cannot view a tensor with shape"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_view_of_result"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# # Torch 2.0 says no more than the line of the program.
# match = '^\s*from user code:\n[^\n]+\n\s+return normalize\(x, mean, var\)\.view\(-1\)'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# ///
"""The CPU kernel allocates its output in the memory format it deems suitable, here a contiguous one. The
operator has no meta kernel; its decomposition is elementwise arithmetic, which keeps the strides of a
permuted input. Views that depend on the strides are then refused while tracing. Correct: the fake output
has the strides of the real one. (CUDA keeps the input's layout, as the decomposition does.)
Source: issue 192668, PR 192962.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def make_inputs() -> tuple[torch.Tensor, ...]:
    return torch.arange(30.0).reshape(1, 6, 5).permute(0, 2, 1), torch.zeros(5), torch.ones(5)


def normalize(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)[0]


def test_strides() -> None:
    real = normalize(*make_inputs())
    with FakeTensorMode() as mode:
        fake = normalize(*(mode.from_tensor(t) for t in make_inputs()))
    assert fake.stride() == real.stride(), f"fake {fake.stride()} real {real.stride()}"


def test_view_of_result(backend: str) -> None:
    def flatten(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
        return normalize(x, mean, var).view(-1)

    actual = torch.compile(flatten, backend=backend)(*make_inputs())
    torch.testing.assert_close(actual, flatten(*make_inputs()))


if __name__ == "__main__":
    test_strides()
    test_view_of_result("aot_eager")
