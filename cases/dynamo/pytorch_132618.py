# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/132618"
# title = "A jagged tensor made from rows in the compiled function cannot be taken apart again"
# component = "dynamo"
# symptom = "internal-error"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.2"
# labels = ["jagged"]
# demands = ["subclass"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'aten\._local_scalar_dense\.default'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "'torch\\._C\\._SymNode' object has no attribute 'shape_env'"
# ///
"""unbind of the new jagged tensor needs the lengths of its rows, which are symbols without a value in the trace. Correct: a
graph break or eager's sum.
Source: pytorch issue 132618.
"""

import torch


def weighted(nested: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    rows = [row * weights[i] for i, row in enumerate(nested.unbind())]
    total = torch.zeros(())
    for row in torch.nested.as_nested_tensor(rows, layout=torch.jagged).unbind():
        total = total + row.sum()
    return total


def test_sum_over_rows(device: str, backend: str) -> None:
    rows = [torch.arange(20.0).reshape(5, 4), torch.arange(12.0).reshape(3, 4)]
    nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    weights = torch.tensor([10.0, 100.0])
    torch.compile(lambda x: x * x, backend=backend)(weights)
    torch.testing.assert_close(torch.compile(weighted, backend=backend)(nested, weights), weighted(nested, weights))


if __name__ == "__main__":
    test_sum_over_rows("cpu", "aot_eager")
