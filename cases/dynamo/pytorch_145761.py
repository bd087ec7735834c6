# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145761"
# fix = "https://github.com/pytorch/pytorch/pull/153150"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Membership of an ATen op in a global set"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "\\(set\\) __contains__|method `__contains__` of class `set`"
# ///
"""A global set is modelled when its members are constants. One that holds operator overloads became an opaque user
object, whose __contains__ Dynamo does not trace. Correct: no graph break; the branch is decided while
tracing. fullgraph=True, since the bug is the break. Source: pytorch issue 145761.
"""

import torch

SPECIAL = {torch.ops.aten.add.Tensor, torch.ops.aten.mul.Tensor}


def step(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if torch.ops.aten.add.Tensor in SPECIAL else x - 1


def test_op_in_a_set(device: str, backend: str) -> None:
    actual = torch.compile(step, backend=backend, fullgraph=True)(torch.zeros(2, device=device)).tolist()
    assert actual == [1.0, 1.0], f"op not found in the set: {actual}"


if __name__ == "__main__":
    test_op_in_a_set("cpu", "eager")
