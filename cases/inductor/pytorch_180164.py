# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180164"
# fix = "https://github.com/pytorch/pytorch/pull/180166"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "gradient of the base of slice_scatter under sum is zero"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["training"]
# labels = ["gradient"]
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 6 / 15 \([\d.]+%\)\nGreatest absolute difference: 1\.0 '
# ///
"""The gradient that a sum sends back is one number expanded with stride 0. The backward of slice_scatter
zeroes the slice in a functional copy of it; Inductor turns that into an in-place write, or drops the copy, as
if each element had storage of its own, and one write clears the whole gradient. Correct: ones outside the
slice, zeros inside. Source: issue 180164, fix in PR 180169.
"""

import torch


def gradients(function, base: torch.Tensor, patch: torch.Tensor) -> list[torch.Tensor]:
    leaves = [base.clone().requires_grad_(), patch.clone().requires_grad_()]
    function(*leaves).sum().backward()
    return [leaf.grad for leaf in leaves]


def test_gradient_of_the_scattered_base(device: str, backend: str) -> None:
    def scatter_sum(base: torch.Tensor, patch: torch.Tensor) -> torch.Tensor:
        return torch.slice_scatter(base, patch, dim=1, start=1, end=3).sum(dim=1)

    torch.manual_seed(0)
    base, patch = torch.randn(3, 5).to(device), torch.randn(3, 2).to(device)
    of_base, of_patch = gradients(scatter_sum, base, patch)
    assert of_base.tolist() == [[1, 0, 0, 1, 1]] * 3
    compiled = gradients(torch.compile(scatter_sum, backend=backend), base, patch)
    torch.testing.assert_close(compiled, [of_base, of_patch])


if __name__ == "__main__":
    test_gradient_of_the_scattered_base("cpu", "inductor")
