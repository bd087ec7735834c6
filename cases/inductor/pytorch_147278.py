# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147278"
# fix = "https://github.com/pytorch/pytorch/pull/171770"
# title = "unsafe_split with split_size 0 of an empty dimension"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "backward_info_.value..|same as the input base tensor"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'LoweringException: ZeroDivisionError: division by zero\s+target: aten\.split\.Tensor'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.13"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'LoweringException: ZeroDivisionError: division by zero\s+target: aten\.split\.Tensor'
# ///
"""Eager allows a split size of zero when the dimension is empty and gives one empty piece. unsafe_split reaches
Inductor as aten.split, whose lowering counts the pieces as ceil(dimension / size), and so divides by zero at
compile time. On torch 2.2 to 2.5 tracing stops before: the one piece is the input itself, which a view must
not be. Torch 2.0 and 2.1 pass. Correct: the pieces that eager gives. Source: pytorch issue 147278, PR 171770.
"""

import torch


def test_empty_dimension_in_pieces_of_zero(device: str, backend: str) -> None:
    def split(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(piece + 1 for piece in torch.unsafe_split(x, 0, 0))

    x = torch.empty(0, 3, device=device)
    expected = [tuple(piece.shape) for piece in split(x)]
    assert expected == [(0, 3)]
    pieces = torch.compile(split, backend=backend)(x)
    torch.testing.assert_close([tuple(piece.shape) for piece in pieces], expected)


def bench_split(device: str) -> tuple:
    def split(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(piece + 1 for piece in torch.unsafe_split(x, 512, 0))

    return split, (torch.randn(4096, 256, device=device),)


if __name__ == "__main__":
    test_empty_dimension_in_pieces_of_zero("cpu", "inductor")
