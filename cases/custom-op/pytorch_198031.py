# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198031"
# title = "A copy of the tensor that a custom operator changes is removed"
# component = "custom-op"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# devices = ["cpu"]
# requires-torch = ">=2.4"
# labels = ["custom-op"]
# demands = ["custom-op", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = '0 to 3 reversed is \[0\.0, 1\.0, 1\.0, 0\.0\]'
# ///
"""The operator reads a clone of x and writes x. In the functional graph the clone of an unchanged tensor is no
operation and goes; then the copy of the written one goes, too, since nobody reads x later. The operator gets one
tensor twice. Correct: x reversed.
Source: pytorch issue 198031.
"""

import torch


@torch.library.custom_op("pt2bugs::reverse_198031", mutates_args={"target"})
def reverse_into(source: torch.Tensor, target: torch.Tensor) -> None:
    for index in range(len(source)):
        target[len(source) - 1 - index] = source[index]


def reverse(x: torch.Tensor) -> torch.Tensor:
    reverse_into(x.clone(), x)
    return x * 2


def test_copy_is_read(device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device)
    torch.compile(reverse, backend=backend)(x)
    assert x.tolist() == [3.0, 2.0, 1.0, 0.0], f"0 to 3 reversed is {x.tolist()}"


if __name__ == "__main__":
    test_copy_is_read("cpu", "inductor")
