# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195451"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "returned scatter result aliases the input after copy-back"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 5 / 6 \([\d.]+%\)\nGreatest absolute difference: 81\.0 '
# ///
"""A functional scatter whose result is copied back into its input may be done in place, unless somebody else
holds that result. Inductor's reinplacing pass does not ask whether the result is also an output of the graph:
the caller gets an alias of the input where eager gives a fresh tensor. Correct: a write to the output leaves
the input as it was. Source: issue 195451.
"""

import torch


def test_output_is_not_an_alias_of_the_input(device: str, backend: str) -> None:
    def replace_row(x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        y = torch.select_scatter(x, row, 0, 1)
        x.copy_(y)
        return y

    def run(function) -> tuple[torch.Tensor, torch.Tensor]:
        x, row = torch.arange(6.0, device=device).reshape(3, 2), torch.tensor([8.0, 9.0], device=device)
        y = function(x, row)
        y.mul_(10)
        return x, y

    x, y = run(replace_row)
    assert x.tolist() == [[0, 1], [8, 9], [4, 5]]
    torch.testing.assert_close(run(torch.compile(replace_row, backend=backend)), (x, y), rtol=0, atol=0)


if __name__ == "__main__":
    test_output_is_not_an_alias_of_the_input("cpu", "inductor")
