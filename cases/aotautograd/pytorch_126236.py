# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/126236"
# fix = "https://github.com/pytorch/pytorch/pull/111554"
# title = "A write through a view taken before set_() is traced as if set_() had moved the view along"
# component = "aotautograd"
# symptom = "missing-error"
# same-fix = "pytorch_110842"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.0.1"
# check = "test_mutations_outside_the_graph"
# blocked = true
# outcome = "raise"
# error = "RuntimeError"
# match = "a leaf Variable that requires grad is being used in an in-place operation"
# frame = 'torch/_functorch/aot_autograd\.py:\d+ runtime_wrapper'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 3\.0 at index \(0, 0\)'
# ///
"""A view of an input keeps the input's first storage when set_() gives the input another one: a later write
through that view changes the old storage only. Functionalization once kept set_() as a plain metadata change
of the same base, so that the write reached the new storage too, silently. Now the old storage is frozen by
set_(), and a write to it is refused ("cannot mutate tensors with frozen storage"), with input mutations kept
in the graph or outside of it. Correct: that refusal, or eager's values for output, input and old view.
The case is AOTAutograd's own, without Dynamo, which breaks the graph at set_().
Source: pytorch issue 126236, PRs 111554 (set_ in functionalization) and 126113.
"""

from collections.abc import Callable

import torch
from functorch.compile import aot_function, nop

Function = Callable[[torch.Tensor], torch.Tensor]


def write_through_old_view(a: torch.Tensor) -> torch.Tensor:
    old = a.view(-1)
    fresh = torch.full((2, 2), 3.0, device=a.device)
    with torch.no_grad():
        a.set_(fresh)
        old.mul_(2)
    return a + fresh


def run(function: Function, device: str, requires_grad: bool) -> tuple[torch.Tensor, ...]:
    a = torch.ones(2, 2, device=device, requires_grad=requires_grad)
    old = a.detach().view(-1)
    return function(a), a, old


def refused_or_right(device: str, keep: bool, requires_grad: bool) -> None:
    expected = run(write_through_old_view, device, requires_grad)
    compiled = aot_function(write_through_old_view, nop, keep_inference_input_mutations=keep)
    try:
        actual = run(compiled, device, requires_grad)
    except RuntimeError as error:
        if "cannot mutate tensors with frozen storage" not in str(error):
            raise
    else:
        torch.testing.assert_close(actual, expected)


def test_mutations_outside_the_graph(device: str) -> None:
    refused_or_right(device, keep=False, requires_grad=True)


def test_mutations_in_the_graph(device: str) -> None:
    refused_or_right(device, keep=True, requires_grad=False)


if __name__ == "__main__":
    test_mutations_outside_the_graph("cpu")
    test_mutations_in_the_graph("cpu")
