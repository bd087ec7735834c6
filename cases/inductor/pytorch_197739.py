# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197739"
# fix = "https://github.com/pytorch/pytorch/pull/195063"
# title = "flat argmin of (transposed matrix + constant) returns the physical position"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = []
# same-fix = "pytorch_193492"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "argmin of a shifted transposed matrix is 2"
# ///
"""A flat argmin must number elements in the logical order of its operand. The lowering only corrects the
index for operands that are stored transposed; the sum of a transposed matrix and a constant is not stored but
computed inside the reduction, in the order of the matrix's memory, and the physical position comes back.
Correct: eager's index. Source: issue 197739, fixed with issue 193751 in PR 195063.
"""

import torch


def test_argmin_of_a_shifted_transposed_matrix(device: str, backend: str) -> None:
    def shifted_argmin(m: torch.Tensor) -> torch.Tensor:
        return (m.t() + 1).argmin()

    m = torch.tensor([[3.0, 4.0], [1.0, 2.0], [5.0, 6.0]], device=device)
    assert shifted_argmin(m).item() == 1
    index = torch.compile(shifted_argmin, backend=backend)(m).item()
    if index != 1:
        raise AssertionError(f"argmin of a shifted transposed matrix is {index}, not 1")


if __name__ == "__main__":
    test_argmin_of_a_shifted_transposed_matrix("cpu", "inductor")
