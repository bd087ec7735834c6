# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/139789"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "graph traced for unrelated inputs is reused for overlapping inputs"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["recompilation"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 4 \([\d.]+%\)\nGreatest absolute difference: 2\.0 '
# ///
"""A graph traced while the inputs have storages of their own treats the write to one as invisible to the
other, and no guard records that assumption. A later call with two overlapping views of one base passes
every guard (shapes, strides, dtypes) and reuses the graph, which reads the second input before the write
has landed. Correct: recompile with a synthetic base; result and base equal eager's. Inductor's fused loop
hides it on some releases, so the check uses aot_eager. Source: issue 139789.
"""

import torch


def write_then_read(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    u.add_(1)
    return v * 2


def test_overlapping_after_unrelated(device: str, backend: str) -> None:
    compiled = torch.compile(write_then_read, backend=backend)
    compiled(torch.zeros(4, device=device), torch.zeros(4, device=device))
    reference, base = torch.arange(6.0, device=device), torch.arange(6.0, device=device)
    expected = write_then_read(reference[:4], reference[2:])
    actual = compiled(base[:4], base[2:])
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    torch.testing.assert_close(base, reference, rtol=0, atol=0)


if __name__ == "__main__":
    test_overlapping_after_unrelated("cpu", "aot_eager")
