# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/164555"
# fix = "https://github.com/pytorch/pytorch/pull/185089"
# title = "add(out=) into a channels_last tensor breaks the graph"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "out= op was called where output tensor was non-contiguous"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9,<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Attempted to call op with non-contiguous `out=` tensor"
# ///
"""Dynamo refuses an `out=` tensor that is not contiguous in the row-major order, since functionalization cannot keep the
strides of an arbitrary view. A channels_last tensor is dense, and its strides can be kept, but it was refused as well.
The call is captured, and `out` keeps its strides.
Source: issue 164555.
"""

import torch


def f():
    x = torch.ones(2, 2, 2, 3, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    out = torch.empty_like(x)
    torch.add(x, x, out=out)
    return out


def test_out_in_channels_last(backend: str) -> None:
    want = f()
    got = torch.compile(f, backend=backend, fullgraph=True)()
    torch.testing.assert_close(got, want)
    assert got.stride() == want.stride(), f"the strides of out are {got.stride()}, not {want.stride()}"


if __name__ == "__main__":
    test_out_in_channels_last("eager")
