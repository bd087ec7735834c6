# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/140171"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "as_strided of a view input beyond the view's own elements"
# component = "functionalization"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "elements 5 to 14 are"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "as_strided_scatter: sizes \\[10\\], strides \\[1\\], storage offset 5\\s+and itemsize 8 requiring a storage size of 120"
# ///
"""as_strided addresses the storage, of which an input may show only a part. A functionalized graph gets the input's own
elements, ten of twenty, and replays the write with as_strided_scatter on a tensor of those ten, where elements 10 to
14 do not exist; torch 2.15 no longer refuses it and gives other values. Correct: eager's values, and the write in
the base. Source: pytorch issue 140171.
"""

import torch


def increment_next_ten(x: torch.Tensor) -> torch.Tensor:
    view = x.as_strided((10,), (1,), storage_offset=5)
    view.add_(1)
    return view


def test_storage_beyond_the_view(device: str, backend: str) -> None:
    results = []
    for fn in (torch.compile(increment_next_ten, backend=backend), increment_next_ten):
        base = torch.arange(20, device=device)
        results.append((fn(base[:10]).tolist(), base.tolist()))
    (actual, base), expected = results
    assert actual == expected[0], f"elements 5 to 14 are {actual}"
    assert base == expected[1], f"base is {base}"


if __name__ == "__main__":
    test_storage_beyond_the_view("cpu", "aot_eager")
