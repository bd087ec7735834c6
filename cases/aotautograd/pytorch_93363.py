# /// script
# requires-python = ">=3.10,<3.11"
# dependencies = ["torch==2.0.1", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/93363"
# fix = "https://github.com/pytorch/pytorch/pull/102767"
# title = "In-place update of a non-contiguous view input changes other elements of the base"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = { test_aot_function = [], test_compile = ["training", "mutation"] }
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 6 \([\d.]+%\)\nGreatest absolute difference: 4\.0 '
# ///
"""AOTAutograd turns the input's a.add_(1) into an updated copy that is written back after the graph has run.
The input is every other element of a base that requires grad, so the write-back has to respect the strides;
torch 2.0 wrote the copy to the first elements of the base. Correct: the base as in eager. The torch.compile
check uses fullgraph=True, so that it cannot pass by falling back to eager. The gradient of the base:
aotautograd_view_input_gradient. Source: pytorch issue 93363.
"""

from collections.abc import Callable

import torch
from functorch.compile import aot_function, nop


def increment(a: torch.Tensor) -> tuple[()]:
    a.add_(1)
    return ()


def same_base(device: str, compiled: Callable[[torch.Tensor], object]) -> None:
    leaf = torch.arange(6.0, device=device, requires_grad=True)
    base, reference = leaf * 2, leaf * 2
    increment(reference[::2])
    compiled(base[::2])
    torch.testing.assert_close(base, reference, rtol=0, atol=0)


def test_aot_function(device: str) -> None:
    same_base(device, aot_function(increment, nop))


def test_compile(device: str, backend: str) -> None:
    same_base(device, torch.compile(increment, backend=backend, fullgraph=True))


if __name__ == "__main__":
    test_aot_function("cpu")
    test_compile("cpu", "aot_eager")
