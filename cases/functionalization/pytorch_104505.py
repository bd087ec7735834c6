# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/104505"
# fix = "https://github.com/pytorch/pytorch/pull/122502"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "as_strided of a view is functionalized on top of the view"
# component = "functionalization"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# compiles = false
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "Mismatched elements: 1 / 8"
# ///
"""In eager as_strided starts from the storage, whatever view it is called on. Functionalization composed it with
the view before, here a diagonal, so that a write through it changes other elements of the base. Correct:
eager's result, or a refusal that names as_strided, which torch has given since the fix.
Source: pytorch issue 104505, PR 122502.
"""

import torch


def add_to_first_two(x: torch.Tensor) -> torch.Tensor:
    x.diagonal().as_strided((2,), (1,), 0).add_(1.0)
    return x


def test_write_through_as_strided_of_a_diagonal(device: str, backend: str) -> None:
    zeros = torch.zeros(2, 4, device=device)
    try:
        actual = torch.compile(add_to_first_two, backend=backend)(zeros.clone())
    except Exception as error:
        assert "as_strided" in str(error), f"refused for another reason: {error}"
    else:
        torch.testing.assert_close(actual, add_to_first_two(zeros), rtol=0, atol=0)


if __name__ == "__main__":
    test_write_through_as_strided_of_a_diagonal("cpu", "aot_eager")
