# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/109053"
# fix = "https://github.com/pytorch/pytorch/pull/113416"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A view of another dtype comes back with the dtype of the input"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# output = "not supported between instances of 'torch\\.dtype' and 'int'"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the bits of four ones are \[1\.0, 1\.0, 1\.0, 1\.0\]'
# ///
"""The output is a view of the input. AOTAutograd makes it anew after the graph, with as_strided where the views cannot be
replayed, and as_strided keeps the dtype of the input. Correct: the bits, as integers.
Source: pytorch issue 109053; a regression test of PyTorch's names it.
"""

import torch


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int32)


def test_bits(device: str, backend: str) -> None:
    out = torch.compile(bits, backend=backend)(torch.ones(4, device=device))
    assert out.dtype == torch.int32, f"the bits of four ones are {out.tolist()}"
    assert out.tolist() == [0x3F800000] * 4, f"the bits of four ones are the integers {out.tolist()}"


if __name__ == "__main__":
    test_bits("cpu", "aot_eager")
