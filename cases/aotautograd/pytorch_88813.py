# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/88813"
# fix = "https://github.com/pytorch/pytorch/pull/134726"
# title = "Two equal outputs share one storage"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["aliasing"]
# demands = ["training", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the second output is \[0\.0, 0\.0\] after the first is set to zero'
# ///
"""Common subexpressions are merged, and the two outputs become one tensor, so that a later change of the one changes the
other. Correct: two tensors, as in eager.
Source: pytorch issue 88813; a regression test of PyTorch's names it.
"""

import torch


def doubled_twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x * 2, x * 2


def test_outputs_are_two_tensors(device: str, backend: str) -> None:
    first, second = torch.compile(doubled_twice, backend=backend)(torch.ones(2, device=device, requires_grad=True))
    with torch.no_grad():
        first.zero_()
    assert second.tolist() == [2.0, 2.0], f"the second output is {second.tolist()} after the first is set to zero"


if __name__ == "__main__":
    test_outputs_are_two_tensors("cpu", "aot_eager")
