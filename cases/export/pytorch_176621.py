# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/176621"
# fix = "https://github.com/pytorch/pytorch/pull/176270"
# title = "An exported program that holds the dtype float8_e8m0fnu cannot be saved"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.7"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.12"
# outcome = "raise"
# error = "torch._export.serde.serialize.SerializeError"
# match = 'Failed serializing node .*torch\.float8_e8m0fnu'
# ///
"""The serializer maps every dtype to a number of the schema. float8_e8m0fnu, new in torch 2.7, was not in that
table: a conversion to it is traced, and its argument fails on saving. Correct: the program is saved and loaded
again. Source: pytorch issue 176621.
"""

import io

import torch


class ToPowersOfTwo(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.float8_e8m0fnu).to(torch.float32)


def test_round_trip(device: str) -> None:
    x = torch.tensor([1.0, 2.0, 0.25], device=device)
    program = torch.export.export(ToPowersOfTwo(), (x,), strict=False)
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    torch.testing.assert_close(torch.export.load(buffer).module()(x), x, rtol=0, atol=0)


if __name__ == "__main__":
    test_round_trip("cpu")
