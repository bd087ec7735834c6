# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/68301"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Graph.eliminate_dead_code deletes an in-place method call whose result is unused"
# component = "fx"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 3 / 3 \([\d.]+%\)\nGreatest absolute difference: 2\.0 '
# ///
"""Dead-code elimination drops a node without users unless it is impure, and impurity is looked up by target:
placeholders, some modules and functions. A call_method node such as x.add_() is always taken to be pure.
Correct: the graph still computes what the traced function does. Source: issue 68301; PR 162267 extends
is_impure to in-place operators.
"""

import torch
from torch import fx


def shift_and_double(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def test_in_place_method_survives(device: str) -> None:
    traced = fx.symbolic_trace(shift_and_double)
    traced.graph.eliminate_dead_code()
    traced.recompile()
    actual = traced(torch.arange(3.0, device=device))
    torch.testing.assert_close(actual, shift_and_double(torch.arange(3.0, device=device)), rtol=0, atol=0)


if __name__ == "__main__":
    test_in_place_method_survives("cpu")
