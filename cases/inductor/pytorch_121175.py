# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121175"
# fix = "https://github.com/pytorch/pytorch/pull/121478"
# title = "Freezing packs a float64 weight for MKL's float32 linear"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# requires-torch = ">=2.1"
# labels = ["freezing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "reorder_linear_weight: weight's dtype should be float"
# platform = "x86_64"
# ///
"""With freezing, Inductor rewrites addmm and mm with constant weights into MKL's packed linear. The pattern for
the rewrite asks whether the weight is a low-precision one, and takes everything else for float32; the constant
folding that follows then packs a float64 weight, which the operator refuses. It takes a build with MKL. Correct:
eager's result, in float64.
Source: pytorch issue 121175.
"""

import torch
import torch._inductor.config


class Affine(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(10, dtype=torch.float64))
        self.bias = torch.nn.Parameter(torch.ones(10, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias, x, self.weight)


def test_frozen_float64_weight(device: str, backend: str) -> None:
    model, x = Affine().eval().to(device), torch.ones(10, 10, dtype=torch.float64, device=device)
    with torch.no_grad(), torch._inductor.config.patch(freezing=True):
        torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x))


if __name__ == "__main__":
    test_frozen_float64_weight("cpu", "inductor")
