# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/191449"
# fix = "https://github.com/pytorch/pytorch/pull/191844"
# title = "resize_ of a view of an intermediate also resizes the intermediate"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["inductor"]
# demands = ["aliasing"]
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = 'shape \(1,\) instead of \(3, 4\)'
# ///
"""resize_ is a graph break, so an intermediate and a no-op view of it leave the first graph as two outputs.
Without autograd AOTAutograd did not class the view as an alias to be regenerated, and Inductor removes
no-op views: the graph returns one tensor object twice, and the eager resize_ of "the view" changes the
shape of its base. Correct: two tensor objects on one storage; the base keeps its shape. Source: issue
191449, PR 191844.
"""

import torch


def shrink_view(x: torch.Tensor) -> torch.Tensor:
    base = x * 2
    same = base.view(3, 4)
    same.resize_(1)
    return base + 1


def test_base_keeps_its_shape(device: str, backend: str) -> None:
    x = torch.arange(12.0, device=device).reshape(3, 4)
    with torch.no_grad():
        expected = shrink_view(x)
        actual = torch.compile(shrink_view, backend=backend)(x)
    assert actual.shape == expected.shape, f"shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_base_keeps_its_shape("cpu", "inductor")
