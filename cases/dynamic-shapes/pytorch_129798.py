# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/129798"
# fix = "https://github.com/pytorch/pytorch/pull/130232"
# title = "A changing stride recompiles on every call: automatic dynamic shapes look at sizes only"
# component = "dynamic-shapes"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["recompilation"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled [4-6] times for 6 strides"
# ///
"""A size that changed between two calls becomes symbolic at the second compilation. Strides were left
out: a column of a matrix whose width changes has a constant size and a new row stride at each call, which
is guarded as a constant, so each call compiles. Correct: a stride seen to change becomes dynamic; at most
three compilations. Source: issue 129798, PR 130232.
"""

import torch


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_changing_stride_becomes_dynamic(device: str) -> None:
    compilations = []

    def backend(graph_module, example_inputs):
        compilations.append(graph_module)
        return graph_module

    compiled = torch.compile(double, backend=backend)
    for width in range(2, 8):
        column = torch.arange(4.0 * width, device=device).view(4, width)[:, :1]
        torch.testing.assert_close(compiled(column), double(column), rtol=0, atol=0)
    assert len(compilations) <= 3, f"compiled {len(compilations)} times for 6 strides"


if __name__ == "__main__":
    test_changing_stride_becomes_dynamic("cpu")
