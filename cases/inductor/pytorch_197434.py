# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197434"
# fix = "https://github.com/pytorch/pytorch/pull/197596"
# title = "adaptive_max_pool2d return_indices wrong for a transposed image"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "NameError: name 'max_pool2d_with_ind"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 27 / 32 \([\d.]+%\)\nGreatest absolute difference: 55 '
# ///
"""Inductor takes the index of a pooled maximum from a reduction over the window, as an offset that it later
decodes row by row. For an image whose height has the smaller stride the scheduler swaps the loops over the
window, after the decoding was fixed: the offset is counted column by column. Values are right, indices are
not. Correct: both as in eager. Source: issue 197434, fix in PR 197596.
"""

import torch
import torch.nn.functional as F


def test_indices_of_a_transposed_image(device: str, backend: str) -> None:
    def pool(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return F.adaptive_max_pool2d(x, (2, 2), return_indices=True)

    torch.manual_seed(0)
    x = torch.randn(2, 4, 12, 12).to(device).transpose(2, 3)
    values, indices = pool(x)
    torch.testing.assert_close(x.flatten(2).gather(2, indices.flatten(2)), values.flatten(2), rtol=0, atol=0)
    compiled = torch.compile(pool, backend=backend)(x)
    torch.testing.assert_close(compiled, (values, indices), rtol=0, atol=0)


if __name__ == "__main__":
    test_indices_of_a_transposed_image("cpu", "inductor")
