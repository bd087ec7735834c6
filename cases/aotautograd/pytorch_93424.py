# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/93424"
# title = "A complex64 Linear through AOTAutograd"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["complex"]
# demands = ["training", "complex"]
# guard = true
# ///
"""A complex parameter's gradient is complex while the loss is real: AOTAutograd has to trace a joint graph
whose tangent and gradients differ in dtype, with the conjugations autograd inserts. Correct: loss and
parameter gradients equal eager's. A guard: tried through aot_eager on every release from 2.1.2 to 2.15.0
and through inductor on some; the failure reported against the nightlies before torch 2.0 shows on none.
Source: pytorch issue 93424.
"""

import copy

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 3, dtype=torch.complex64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).sum().abs()


def test_complex_linear(device: str, backend: str) -> None:
    torch.manual_seed(0)
    model = Model().to(device)
    copied = copy.deepcopy(model)
    x = torch.randn(1, 4, 5, dtype=torch.complex64, device=device)
    expected = model(x)
    expected.backward()
    actual = torch.compile(copied, backend=backend)(x)
    actual.backward()
    torch.testing.assert_close(actual, expected)
    for parameter, reference in zip(copied.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, reference.grad)


if __name__ == "__main__":
    test_complex_linear("cpu", "aot_eager")
