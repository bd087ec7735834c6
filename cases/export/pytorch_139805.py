# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/139805"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Strict export with one sample tensor for two inputs merges the inputs"
# component = "export"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "1 \\+ 10 \\* 2 is \\[22\\.0, 22\\.0\\]"
# ///
"""Strict export traces with Dynamo, which gives each distinct tensor one graph input. Two arguments for which the same
sample tensor was passed become one, and the program reads the first for both, though
nothing says that they must be equal. Correct: each argument is an input of its own, as in non-strict export.
Source: pytorch issue 139805.
"""

import torch


class Combine(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + 10 * b


def test_both_inputs_are_read() -> None:
    sample = torch.ones(2)
    program = torch.export.export(Combine(), (sample, sample), strict=True)
    actual = program.module()(torch.tensor([1.0, 1.0]), torch.tensor([2.0, 2.0])).tolist()
    assert actual == [21.0, 21.0], f"1 + 10 * 2 is {actual}"


if __name__ == "__main__":
    test_both_inputs_are_read()
