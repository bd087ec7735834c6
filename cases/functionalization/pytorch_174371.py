# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174371"
# title = "In-place write through a self-overlapping as_strided view is accepted and differs from eager"
# component = "functionalization"
# symptom = "missing-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'accepted a write to overlapping elements, gave \[1\.0, 1\.0, 1\.0, 1\.0\]'
# ///
"""Elements of the view share memory. Eager's in-place op adds to a shared element once for each element of the
view that lies there, in an order that is not defined; functionalization computes the new view out of place
and scatters it into the base, which adds once. Nothing says so, although other overlapping views (expand,
unfold) are refused. What the write gives is undefined, so the one right answer of a compiler is the
refusal. Correct: an error that names the overlap. Source: pytorch issue 174371; PRs 175655 and 184864
(abandoned).
"""

import torch
from torch._dynamo.utils import counters


def add_to_overlapping_rows(base: torch.Tensor) -> torch.Tensor:
    base.as_strided((3, 2), (1, 1)).add_(1)
    return base * 1


def test_overlapping_write(device: str, backend: str) -> None:
    compiled = torch.compile(add_to_overlapping_rows, backend=backend)
    try:
        actual = compiled(torch.zeros(4, device=device))
    except RuntimeError as error:
        if "overlap" not in str(error):
            raise
    else:
        assert not counters["stats"]["unique_graphs"], (
            f"accepted a write to overlapping elements, gave {actual.tolist()}"
        )


if __name__ == "__main__":
    test_overlapping_write("cpu", "aot_eager")
