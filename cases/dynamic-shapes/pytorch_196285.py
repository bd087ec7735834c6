# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196285"
# fix = "https://github.com/pytorch/pytorch/pull/196590"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "list.pop at a position computed from a symbolic size"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.15"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'SymNodeVariable\(\) is not a constant'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/variables/base\.py:\d+ as_python_constant\ntorch/_dynamo/variables/lists\.py'
# ///
"""list.pop asks Dynamo's variable for a Python constant, and a position computed from a dynamic size is a
SymNode, not a constant: the error is meant for internal use and escapes as an internal error instead of a
graph break. Correct: specialize the position under a guard (which element leaves the list decides the
graph's structure); equals eager. Source: issue 196285, PR 196590.
"""

import torch


def pop_by_size(x: torch.Tensor) -> torch.Tensor:
    parts = [x + 1, x + 20, x + 300]
    taken = parts.pop(x.shape[0] - 2)
    return torch.stack([taken, *parts])


def test_pop_at_symbolic_position(device: str, backend: str) -> None:
    compiled = torch.compile(pop_by_size, backend=backend, dynamic=True)
    for size in (3, 4):
        x = torch.zeros(size, device=device)
        torch.testing.assert_close(compiled(x), pop_by_size(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_pop_at_symbolic_position("cpu", "eager")
