# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.2.2", "numpy<2", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111554"
# fix = "https://github.com/pytorch/pytorch/pull/115769"
# title = "set_ of a graph input to another input's storage"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "the input does not share its new storage"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "AssertionError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'torch/fx/experimental/symbolic_shapes\.py:\d+ produce_guards'
# ///
"""set_ gives the caller's tensor another storage, which neither copy_ nor as_strided_ can replay;
AOTAutograd tracks it as a mutation of its own kind. Torch 2.0 changed sizes and strides only; 2.1 and 2.2
trace it, but making the guards on the sizes meets an assertion, since set_ has left the fake input with
other sizes than the guards were to be about. Correct: afterwards the input has the size, strides and storage
of its source, so that a later write to one is seen in the other. Source: pytorch PR 111554.
"""

import torch


def adopt(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.set_(b)
    return a * b


def run(fn: object, device: str) -> tuple[list[torch.Tensor], bool]:
    a, b = torch.zeros(4, device=device), torch.arange(6.0, device=device).view(2, 3)
    out = fn(a, b)
    shared = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    values = [t.clone() for t in (out, a, b)]
    a.add_(1)
    return [*values, a, b], shared


def test_adopt(device: str, backend: str) -> None:
    expected, shared = run(adopt, device)
    actual, compiled_shared = run(torch.compile(adopt, backend=backend), device)
    assert compiled_shared == shared, "the input does not share its new storage"
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_adopt("cpu", "aot_eager")
