# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/109053"
# title = "view of another dtype fails with dynamic shapes"
# component = "dynamic-shapes"
# symptom = "internal-error"
# # More graphs since torch 2.2: the dtype is seen, and the second size is compiled anew.
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# output = "not supported between instances of 'torch\\.dtype' and 'int'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'bits of 4 floats are \[\[0\.0, 1\.0\], \[2\.0, 3\.0\]\]'
# ///
"""Tensor.view has an overload that takes a dtype, whose fake kernel did not take symbolic sizes. Correct: eager's bits, for
each size.
Source: pytorch issue 109053; a regression test of PyTorch's names it.
"""

import torch


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int32)


def test_bits_of_two_sizes(device: str, backend: str) -> None:
    compiled = torch.compile(bits, backend=backend, dynamic=True)
    for size in (4, 6):
        x = torch.arange(float(size), device=device).reshape(-1, 2)
        assert torch.equal(compiled(x), bits(x)), f"bits of {size} floats are {compiled(x).tolist()}"


if __name__ == "__main__":
    test_bits_of_two_sizes("cpu", "aot_eager")
