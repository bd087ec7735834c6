# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111554"
# fix = "https://github.com/pytorch/pytorch/pull/111554"
# title = "set_ of an input that requires grad, and a write that autograd must see"
# component = "aotautograd"
# symptom = "missing-error"
# same-fix = "pytorch_110842"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 4 \([\d.]+%\)\nGreatest absolute difference: 6\.0 '
# ///
"""A write under autograd changes the history of the input, so it has to be replayed on the caller's tensor; if the
input was set_ to other storage before, AOTAutograd keeps the set_ in the graph, and cannot do both. Correct: a
refusal that says so, or eager's values and gradients; up to torch 2.1 wrong values came back. AOTAutograd's
own, without Dynamo, which breaks the graph at set_. Source: pytorch PR 111554.
"""

import torch
from functorch.compile import aot_function, nop


def adopt_and_write(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        a.set_(b)
    a.mul_(3)
    return a + b


def run(fn: object, device: str) -> list[torch.Tensor]:
    leaves = [torch.ones(4, device=device, requires_grad=True), torch.arange(4.0, device=device).requires_grad_()]
    a, b = (leaf.clone() for leaf in leaves)
    out = fn(a, b)
    values = [t.detach().clone() for t in (out, a, b)]
    return [*values, torch.autograd.grad(out.sum() + a.sum(), leaves[1])[0]]


def test_set_then_tracked_write(device: str) -> None:
    expected = run(adopt_and_write, device)
    try:
        actual = run(aot_function(adopt_and_write, nop, keep_inference_input_mutations=True), device)
    except (AssertionError, RuntimeError) as error:
        if "other mutations that we cannot" not in str(error):
            raise
    else:
        torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_set_then_tracked_write("cpu")
