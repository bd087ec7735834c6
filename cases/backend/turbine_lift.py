# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.12.1", "iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0",
#   "numpy", "setuptools",
# ]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107961"
# fix = "https://github.com/pytorch/pytorch/pull/185805"
# title = "turbine_cpu cannot compile aten.lift: functionalization's internal assertion comes first"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["turbine_cpu"]
# demands = []
# extra = "turbine"
# same-fix = "pytorch_107961"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "isFunctionalTensor\\(self\\) INTERNAL ASSERT FAILED"
# ///
"""turbine_cpu is built on AOTAutograd, which functionalizes the graph before any importer sees it.

The functionalization kernel of `aten.lift` asserts that its input is not wrapped yet, and in AOTAutograd it
always is. So the failure is the one of aot_eager and the fix is torch's, not the backend's. Correct: lift
is the identity. The backend registers itself by a package entry point; nothing needs importing. Source:
pytorch issue 107961, PR 185805. The same trap on torch alone: pytorch_107961.
"""

import torch


def test_lift(backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.lift.default(x + 1) * 2

    x = torch.arange(6.0).reshape(2, 3)
    expected = function(x)
    torch.testing.assert_close(torch.compile(function, backend=backend)(x), expected)


if __name__ == "__main__":
    test_lift("turbine_cpu")
