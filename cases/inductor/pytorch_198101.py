# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198101"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "value derived from a dtype view of an input is computed after a later write to the input"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "bitcast torch.int64 to different bitwidth"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 11 / 24 \([\d.]+%\)\nGreatest absolute difference: 40 '
# ///
"""A dtype view shares its input's memory, so a value derived from it must be computed before the input is
written. The view of int64 as int32 also changes the shape; Inductor reads the input through it, but when it
orders kernels it does not connect that read with the later write to the input, and the value is computed from
the new contents. Correct: the result and the mutated input as in eager. Source: issue 198101.
"""

import torch


def test_value_of_a_dtype_view_before_a_write(device: str, backend: str) -> None:
    def derive_then_write(x: torch.Tensor) -> torch.Tensor:
        y = x.view(torch.int32) * 2
        y.sub_(-4)
        x[:, 2:5] = 2
        return y.view(torch.int64)

    x = torch.arange(24, device=device).reshape(4, 6)
    ours, theirs = x.clone(), x.clone()
    expected = derive_then_write(theirs)
    result = torch.compile(derive_then_write, backend=backend)(ours)
    torch.testing.assert_close((result, ours), (expected, theirs), rtol=0, atol=0)


if __name__ == "__main__":
    test_value_of_a_dtype_view_before_a_write("cpu", "inductor")
