# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133512"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Functionalized in-place op loses its input's strides: a stride-sensitive op reads other elements"
# component = "functionalization"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 4 \([\d.]+%\)\nGreatest absolute difference: 9\.0 '
# ///
"""Functionalization replaces an in-place op by its functional variant, whose result for a strided input is
contiguous, where the in-place op keeps the layout. An op that addresses storage, such as as_strided_copy,
then picks other elements. Correct: equals eager. Source: issue 133512; PR 186328 (abandoned).
"""

import torch


def double_and_pick(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return torch.as_strided_copy(x, (4,), (1,))


def test_layout_after_in_place_op(device: str, backend: str) -> None:
    expected = double_and_pick(torch.arange(8.0, device=device)[::2])
    actual = torch.compile(double_and_pick, backend=backend)(torch.arange(8.0, device=device)[::2])
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_layout_after_in_place_op("cpu", "aot_eager")
