# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150540"
# title = "torch._check of an unbacked length against a symbolic size is lost before AOTAutograd"
# component = "dynamic-shapes"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.2"
# labels = ["mark-dynamic"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Could not guard on data-dependent expression u0 > 10[\\s\\S]*_decomp/decompositions.py"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = "Tried to use data-dependent value in the subsequent computation"
# ///
"""The program checks that a data-dependent length is below a symbolic size, and slices with it. Dynamo accepts
that, but when AOTAutograd traces the graph anew, what the check said is not known there: the slice asks
whether the length exceeds the size, and nothing answers. Correct: it compiles into one graph and equals
eager.
Source: pytorch issue 150540.
"""

import torch


def prefix(length: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    size = length.item()
    torch._check_is_size(size)
    torch._check(size < values.shape[0])
    return values[:size]


def test_unbacked_length_below_a_symbolic_size(device: str, backend: str) -> None:
    values = torch.arange(10.0, device=device)
    torch._dynamo.mark_dynamic(values, 0)
    length = torch.tensor(4, device=device)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        actual = torch.compile(prefix, backend=backend, fullgraph=True)(length, values)
    torch.testing.assert_close(actual, values[:4], rtol=0, atol=0)


if __name__ == "__main__":
    test_unbacked_length_below_a_symbolic_size("cpu", "aot_eager")
