# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/122457"
# title = "A view of a complex buffer is not known as an alias, and the buffer is used again"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["complex"]
# demands = ["complex", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = '1 \+ i plus \(1 \+ i\) and plus 1 are \(\[2\.0, 2\.0\], \[3\.0, 2\.0\]\)'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'torch\.complex64 missing from torch\._inductor\.codegen\.cpp\.DTYPE_TO_CPP'
# blocked = true
# ///
"""view_as_complex is a fallback kernel whose output shares the memory of its input; the buffer counts as dead after its last
direct use, and is written over while the view is alive. Correct: both results as in eager.
Source: pytorch issue 122457.
"""

import torch


def both_views(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    z = torch.view_as_complex(x + 1)
    return torch.view_as_real(z) + 1, torch.view_as_real(z + 1)


def test_both_results(device: str, backend: str) -> None:
    first, second = torch.compile(both_views, backend=backend)(torch.zeros(4, 2, device=device))
    values = (first[0].tolist(), second[0].tolist())
    assert values == ([2.0, 2.0], [2.0, 1.0]), f"1 + i plus (1 + i) and plus 1 are {values}"


if __name__ == "__main__":
    test_both_results("cpu", "inductor")
