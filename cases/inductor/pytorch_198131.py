# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198131"
# fix = "https://github.com/pytorch/pytorch/pull/198132"
# title = "full-slice copy between two inputs observes a later in-place change of the source"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 10\.0 '
# ///
"""Functionalization turns a copy between full slices into a value equal to the source, and Inductor's
remove_noop_ops replaces that value by the source itself. The epilogue that writes it into the destination
then runs after the in-place update of the source and copies the new contents. Correct: the destination holds
what the source held before the update. Source: issue 198131, fix in PR 198132.
"""

import torch


def test_copy_before_an_update_of_the_source(device: str, backend: str) -> None:
    def copy_then_update(dst: torch.Tensor, src: torch.Tensor) -> None:
        dst[0:] = src[0:]
        src.add_(10)

    def run(function) -> tuple[torch.Tensor, torch.Tensor]:
        dst, src = torch.zeros(4, device=device), torch.arange(4.0, device=device)
        function(dst, src)
        return dst, src

    dst, src = run(copy_then_update)
    assert dst.tolist() == [0, 1, 2, 3]
    compiled = run(torch.compile(copy_then_update, backend=backend))
    torch.testing.assert_close(compiled, (dst, src), rtol=0, atol=0)


if __name__ == "__main__":
    test_copy_before_an_update_of_the_source("cpu", "inductor")
