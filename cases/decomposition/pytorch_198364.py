# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198364"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "copysign, floor_divide and put return contiguous strides for a transposed input"
# component = "decomposition"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_put"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(6, 1\\), not \\(1, 5\\)"
#
# [[tool.pt2bugs.bug]]
# check = "test_copysign"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(6, 1\\), not \\(1, 5\\)"
#
# [[tool.pt2bugs.bug]]
# check = "test_floor_divide"
# outcome = "wrong"
# error = "AssertionError"
# match = "strides \\(6, 1\\), not \\(1, 5\\)"
# ///
"""In eager the result of these ops has the layout of the first operand. The
decompositions that Inductor uses build the result from other ops (where, floor, a reshape and index_put)
whose layout follows another operand, or is contiguous. Correct: the values and the strides of eager.
Source: pytorch issue 198364.
"""

import torch


def compare_strides(function, device: str, backend: str) -> None:
    x = torch.arange(30.0, device=device).reshape(6, 5).mT
    y = torch.arange(1.0, 31.0, device=device).reshape(5, 6)
    expected, actual = function(x, y), torch.compile(function, backend=backend)(x, y)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert actual.stride() == expected.stride(), f"strides {actual.stride()}, not {expected.stride()}"


def test_copysign(device: str, backend: str) -> None:
    compare_strides(lambda x, y: torch.copysign(x, y), device, backend)


def test_floor_divide(device: str, backend: str) -> None:
    compare_strides(lambda x, y: torch.floor_divide(x, y), device, backend)


def test_put(device: str, backend: str) -> None:
    def put(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.put(torch.tensor([0, 7], device=x.device), y[0, :2])

    compare_strides(put, device, backend)


if __name__ == "__main__":
    test_copysign("cpu", "inductor")
    test_floor_divide("cpu", "inductor")
    test_put("cpu", "inductor")
