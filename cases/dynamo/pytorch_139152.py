# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/139152"
# fix = "https://github.com/pytorch/pytorch/pull/185980"
# title = "param.data = value in compiled code counts as an in-place change"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.14"
# outcome = "raise"
# error = "RuntimeError"
# match = "modified by an inplace operation: \\[torch\\.(cuda\\.)?FloatTensor \\[2\\]\\] is at version 1; expected version 0"
# ///
"""Assigning to .data replaces a tensor's storage and leaves its version counter alone. Dynamo traces it as set_()
under no_grad, with a lowered version afterwards at best, so a parameter that autograd has saved looks modified and
backward refuses it. Correct: backward works and the version is unchanged, as in eager.
Source: pytorch issue 139152.
"""

import torch


class Refreshed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        squared = self.weight**2
        torch._dynamo.graph_break()
        with torch.no_grad():
            self.weight.data = torch.full_like(self.weight, 3.0)
        torch._dynamo.graph_break()
        return (squared * x).sum()


def test_backward_after_data_assignment(device: str, backend: str) -> None:
    module = Refreshed().to(device)
    version = module.weight._version
    torch.compile(module, backend=backend)(torch.ones(2, device=device)).backward()
    gradient = module.weight.grad.tolist()
    assert gradient == [6.0, 6.0], f"gradient {gradient}"
    assert module.weight._version == version, f"version {module.weight._version} for {version}"


if __name__ == "__main__":
    test_backward_after_data_assignment("cpu", "aot_eager")
