# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107961"
# fix = "https://github.com/pytorch/pytorch/pull/185805"
# title = "aten.lift of a tensor that is functionalized already hits an internal assertion"
# component = "functionalization"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager", "inductor"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "isFunctionalTensor\\(self\\) INTERNAL ASSERT FAILED"
# ///
"""`aten.lift` is the identity for a program that is not functionalized; eager treats it so.

Its functionalization kernel wraps a plain tensor and asserts that its input is not wrapped yet. AOTAutograd
functionalizes whole graphs, so graph inputs and intermediates reach the node wrapped, and every backend
built on AOTAutograd fails at compile time. Correct: the compiled function returns its input's values, as
lift_fresh does. Source: pytorch issue 107961 (again in 147275), PR 185805.
"""

import torch


def _check(function, device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    expected = function(x)
    actual = torch.compile(function, backend=backend)(x)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_lift_input(device: str, backend: str) -> None:
    _check(lambda x: torch.ops.aten.lift.default(x), device, backend)


def test_lift_intermediate(device: str, backend: str) -> None:
    _check(lambda x: torch.ops.aten.lift.default(x + 1) * 2, device, backend)


if __name__ == "__main__":
    test_lift_input("cpu", "aot_eager")
    test_lift_intermediate("cpu", "aot_eager")
