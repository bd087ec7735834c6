# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144080"
# fix = "https://github.com/pytorch/pytorch/pull/184173"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "pad_sequence of a float and an integer tensor is not lowered"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'AssertionError:[\s\S]*target: aten\.select_scatter\.default'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.11"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'AssertionError:[\s\S]*target: aten\.select_scatter\.default'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 1 / 4 \([\d.]+%\)\nGreatest absolute difference: 0\.5 '
# ///
"""Each sequence is copied into its row of the batch, which becomes a select_scatter. Its lowering asserts that row
and batch have one dtype, which the integer sequence does not have. Correct: eager's float batch.
Source: pytorch issue 144080.
"""

import torch
from torch.nn.utils.rnn import pad_sequence


def batched(sequences: list[torch.Tensor]) -> torch.Tensor:
    return pad_sequence(sequences, padding_value=-0.5)


def test_float_and_integer_sequence(device: str, backend: str) -> None:
    sequences = [torch.tensor([0.25, 0.5], device=device), torch.tensor([7], dtype=torch.int32, device=device)]
    actual = torch.compile(batched, backend=backend)(sequences)
    torch.testing.assert_close(actual, batched(sequences), rtol=0, atol=0)


if __name__ == "__main__":
    test_float_and_integer_sequence("cpu", "inductor")
