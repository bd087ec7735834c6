# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/136113"
# fix = "https://github.com/pytorch/pytorch/pull/136364"
# title = "An exported program that divides two symbolic sizes cannot be saved"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "torch._export.serde.serialize.SerializeError"
# match = "Failed serializing node truediv|Serializing <built-in function truediv> is not supported"
# ///
"""Arithmetic on symbolic sizes stays in the exported graph as calls of Python operators, and the serializer has a table
of those it knows. Division was not in it: export succeeds, saving fails. Correct: the loaded program divides the sizes
it is called with. Source: pytorch issue 136113, PR 136364.
"""

import io

import torch
from torch.export import Dim


class Ratio(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * (x.shape[0] / y.shape[0])


def test_round_trip(device: str) -> None:
    example = (torch.ones(6, device=device), torch.ones(3, device=device))
    shapes = ({0: Dim("n", min=2, max=99)}, {0: Dim("m", min=2, max=99)})
    program = torch.export.export(Ratio(), example, dynamic_shapes=shapes)
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    x, y = torch.ones(4, device=device), torch.ones(8, device=device)
    torch.testing.assert_close(torch.export.load(buffer).module()(x, y), x / 2)


if __name__ == "__main__":
    test_round_trip("cpu")
