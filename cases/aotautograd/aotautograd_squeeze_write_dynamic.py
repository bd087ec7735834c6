# /// script
# requires-python = ">=3.10,<3.11"
# dependencies = ["torch==2.0.1", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/89532"
# fix = "https://github.com/pytorch/pytorch/pull/100787"
# title = "squeeze_ of an input and a write to it under dynamic shapes"
# component = "aotautograd"
# symptom = "wrong-result"
# # Since torch 2.1 a graph break at squeeze_ of an input keeps the write out of the graph.
# same-fix = "aotautograd_input_metadata_mutation"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_squeeze_in_place_and_write"
# outcome = "wrong"
# error = "AssertionError"
# match = 'shapes and strides \[\(\(3,\), \(1,\)\), \(\(1, 3\), \(3, 1\)\)\], eager'
# ///
"""squeeze_ changes the shape of the caller's tensor, and which dimensions go depends on its sizes: under dynamic
shapes that has to become a guard, and the shape has to be replayed on the input beside the data (torch 2.0 replayed
the data only). Correct: shape, strides and values of input and output as in eager, for several sizes.
Source: pytorch PR 89532.
"""

import torch


def squeeze_view(a: torch.Tensor) -> torch.Tensor:
    a.squeeze(0).mul_(2)
    return a + 1


def squeeze_in_place(a: torch.Tensor) -> torch.Tensor:
    a.squeeze_(0)
    a.mul_(2)
    return a + 1


def compare(fn: object, device: str, backend: str) -> None:
    compiled = torch.compile(fn, backend=backend, dynamic=True)
    for rows, columns in ((1, 3), (1, 5), (2, 3), (1, 4)):
        results = []
        for f in (fn, compiled):
            a = torch.arange(float(rows * columns), device=device).view(rows, columns)
            results.append((f(a), a))
        shapes = [[(tuple(t.shape), t.stride()) for t in pair] for pair in results]
        assert shapes[1] == shapes[0], f"shapes and strides {shapes[1]}, eager {shapes[0]}"
        torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def test_write_through_squeezed_view(device: str, backend: str) -> None:
    compare(squeeze_view, device, backend)


def test_squeeze_in_place_and_write(device: str, backend: str) -> None:
    compare(squeeze_in_place, device, backend)


if __name__ == "__main__":
    test_squeeze_in_place_and_write("cpu", "aot_eager")
    test_write_through_squeezed_view("cpu", "aot_eager")
