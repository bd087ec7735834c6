# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/153437"
# title = "scan over an input without dynamic sizes needs the value of a tensor in Inductor"
# component = "higher-order-ops"
# symptom = "internal-error"
# devices = ["cpu"]
# requires-torch = ">=2.6"
# labels = ["control-flow"]
# demands = ["control-flow"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Unexpected type in sourceless builder types\.GenericAlias'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = '`inductor` failed with aten\._local_scalar_dense\.default'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "scan is not an OpOverload"
# ///
"""Inductor decomposes scan into a while_loop whose step number is a tensor; slicing by it needs its value, which a
fake tensor does not have. Correct: the running sums.
Source: pytorch issue 153437.
"""

import torch
from torch._higher_order_ops.scan import scan


def running(start: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    def step(total: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = total + row
        return total, total.clone()

    return scan(step, start, rows)


def test_running_sums(device: str, backend: str) -> None:
    rows = torch.arange(6.0, device=device).reshape(3, 2)
    last, sums = torch.compile(running, backend=backend, fullgraph=True)(torch.zeros(2, device=device), rows)
    torch.testing.assert_close(sums, rows.cumsum(0), rtol=0, atol=0)
    torch.testing.assert_close(last, rows.sum(0), rtol=0, atol=0)


if __name__ == "__main__":
    test_running_sums("cpu", "inductor")
