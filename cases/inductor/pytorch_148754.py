# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148754"
# fix = "https://github.com/pytorch/pytorch/pull/147961"
# title = "F.fold of an unbatched input fails in C++ code generation"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "AssertionError"
# output = "Error in codegen for ComputedBuffer.*Scatter\\("
# ///
"""fold lowers to an atomic scatter-add over six loop ranges, of which the first two have size one. An assertion
of the C++ backend fails while it generates the code of that node. Correct: it compiles and equals eager.
Source: pytorch issue 148754; 147848 is the same with nn.Fold.
"""

import torch


def fold(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.fold(x, (4, 4), (2, 2), stride=(2, 2))


def test_fold_of_four_patches(device: str, backend: str) -> None:
    x = torch.arange(16.0, device=device).reshape(4, 4)
    torch.testing.assert_close(torch.compile(fold, backend=backend)(x), fold(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_fold_of_four_patches("cpu", "inductor")
