# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143249"
# title = "torch.select with a data-dependent index does not lower in Inductor"
# component = "dynamic-shapes"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.2"
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "GuardOnDataDependentSymNode[\\s\\S]*trying to evaluate is -i\\d > 4"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "LoweringException: GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq\\(-Min\\(4"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "GuardOnDataDependentSymNode: Could not guard on data-dependent expression u0 >= 4"
# ///
"""The decomposition and lowering of select normalize a negative index, which asks whether the index is below
zero; for an unbacked index whose bounds are checked in the graph the question was asked in forms the range
analysis cannot answer. Correct: select compiles, with the bounds known from torch._check.
Source: pytorch issue 143249.
"""

import torch


def pick_row(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    row = index.item()
    torch._check_is_size(row)
    torch._check(row < 4)
    return torch.select(x, 0, row) + 1


def test_select_with_an_unbacked_index(device: str, backend: str) -> None:
    x = torch.arange(8.0, device=device).reshape(4, 2)
    index = torch.tensor(2, device=device)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        actual = torch.compile(pick_row, backend=backend, fullgraph=True)(x, index)
    torch.testing.assert_close(actual, x[2] + 1, rtol=0, atol=0)


if __name__ == "__main__":
    test_select_with_an_unbacked_index("cpu", "inductor")
