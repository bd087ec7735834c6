# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/188718"
# fix = "https://github.com/pytorch/pytorch/pull/187889"
# title = "view_as_complex of a transposed tensor has no Triton type"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# labels = ["complex"]
# demands = ["aliasing", "complex"]
# ///
"""view_as_complex takes any tensor whose last dimension has two elements side by side and whose other strides are
even. Where the input is not contiguous Inductor makes the complex result by a kernel instead of a view of the
input's memory, and the table of Triton types has no complex ones. Correct: eager's view; contiguous inputs and
the CPU gave it. As reported: InductorError, KeyError 'complex64' (complex128 for float64). Source: pytorch
issue 188718; PR 187889, for issue 185396. A complex constant (191330) has the same message and another fix.
"""

import torch


def as_complex(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(x)


def test_transposed_input(device: str, backend: str) -> None:
    x = torch.arange(8.0, device=device).reshape(2, 2, 2).transpose(0, 1)
    torch.testing.assert_close(torch.compile(as_complex, backend=backend)(x), as_complex(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_transposed_input("cuda", "inductor")
