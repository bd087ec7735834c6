# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/182012"
# fix = "https://github.com/pytorch/pytorch/pull/183720"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "diagonal_scatter backward gives a zero gradient for the base"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["training"]
# labels = ["gradient"]
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "AssertionError"
# match = "expected size 3==3, stride 3==0 at dim=0"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 6 / 9 \([\d.]+%\)\nGreatest absolute difference: 1\.0 '
# ///
"""The gradient that a sum sends back is one number expanded with stride 0. The backward of diagonal_scatter
zeroes the diagonal in a functional copy of it; Inductor makes that an in-place write to the expanded tensor,
where all elements share one storage location, and the whole gradient becomes zero. Correct: ones off the
diagonal. Source: issue 182012, fix in PR 183720.
"""

import torch


def gradients(function, base: torch.Tensor, diagonal: torch.Tensor) -> list[torch.Tensor]:
    leaves = [base.clone().requires_grad_(), diagonal.clone().requires_grad_()]
    function(*leaves).backward()
    return [leaf.grad for leaf in leaves]


def test_gradient_of_the_scattered_base(device: str, backend: str) -> None:
    def scatter_sum(base: torch.Tensor, diagonal: torch.Tensor) -> torch.Tensor:
        return torch.diagonal_scatter(base, diagonal).sum()

    torch.manual_seed(0)
    base, diagonal = torch.randn(3, 3).to(device), torch.randn(3).to(device)
    of_base, of_diagonal = gradients(scatter_sum, base, diagonal)
    assert of_base.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    compiled = gradients(torch.compile(scatter_sum, backend=backend), base, diagonal)
    torch.testing.assert_close(compiled, [of_base, of_diagonal])


if __name__ == "__main__":
    test_gradient_of_the_scattered_base("cpu", "inductor")
