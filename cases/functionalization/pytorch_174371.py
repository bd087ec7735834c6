# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174371"
# title = "In-place write through a self-overlapping as_strided view differs from eager, unrejected"
# component = "functionalization"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "Tensor-likes are not equal"
# ///
"""Elements of the view share memory. Eager's in-place op reads and writes one after another and adds to a
shared element several times; functionalization computes the new view out of place and scatters it into the
base, which adds once. Nothing says so, although other overlapping views (expand, unfold) are refused.
Correct: eager's result, or an error that names the overlap. Source: issue 174371; PRs 175655 and 184864
(abandoned).
"""

import torch


def add_to_overlapping_rows(base: torch.Tensor) -> torch.Tensor:
    base.as_strided((3, 2), (1, 1)).add_(1)
    return base * 1


def test_overlapping_write(device: str, backend: str) -> None:
    expected = add_to_overlapping_rows(torch.zeros(4, device=device))
    try:
        actual = torch.compile(add_to_overlapping_rows, backend=backend)(torch.zeros(4, device=device))
    except RuntimeError as error:
        if "overlap" not in str(error):
            raise
    else:
        torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_overlapping_write("cpu", "aot_eager")
