# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/160749"
# fix = "https://github.com/pytorch/pytorch/pull/161517"
# title = "torch.export.save cannot serialize a complex scalar argument"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.1"
# compiles = false
# labels = ["complex"]
# demands = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# outcome = "raise"
# error = "torch._export.serde.serialize.SerializeError"
# match = "Failed serializing node mul\\w* in graph[\\s\\S]*args = \\(%\\w+, 1j\\)"
# ///
"""The export serializer has a union of argument types for scalars: int, float, bool, str, and none for Python's
complex. A program that multiplies by 1j exports but cannot be saved. Correct: save and load keep the
constant, and the loaded program equals the model.
Source: pytorch issue 160749.
"""

import io

import torch


class Rotate(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1j


def test_round_trip_of_a_complex_scalar(device: str) -> None:
    x = torch.arange(3.0, device=device)
    program = torch.export.export(Rotate(), (x,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(x), x * 1j, rtol=0, atol=0)


if __name__ == "__main__":
    test_round_trip_of_a_complex_scalar("cpu")
