# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111554"
# fix = "https://github.com/pytorch/pytorch/pull/111554"
# title = "A graph input that is set_ to another input's storage and then written to"
# component = "aotautograd"
# symptom = "backend-failure"
# same-fix = "pytorch_110842"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'does not yet handle non-differentiable view input mutations'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'torch/fx/experimental/symbolic_shapes\.py:\d+ produce_guards'
# ///
"""set_ followed by a data write is two mutations of one input: another storage, then other values in it, which
are those of the second input as well. AOTAutograd knew set_ as a change of metadata, saw a written input that
is a view of another, and refused. Correct: the input has its source's storage, both hold the written values,
and a later write to one is seen in the other. (Torch 2.2 stops at the assertion that
aotautograd_set_input_mutation is about; newer ones break the graph at set_. What AOTAutograd makes of the two
without Dynamo: aotautograd_set_refused.) Source: pytorch PR 111554.
"""

import torch


def adopt_and_write(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.set_(b)
    a.mul_(3)
    return a + 1


def run(fn: object, device: str) -> tuple[list[torch.Tensor], bool]:
    a, b = torch.zeros(4, device=device), torch.arange(6.0, device=device).view(2, 3)
    out = fn(a, b)
    shared = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    values = [t.clone() for t in (out, a, b)]
    a.add_(1)
    return [*values, a, b], shared


def test_adopt_and_write(device: str, backend: str) -> None:
    expected, shared = run(adopt_and_write, device)
    actual, compiled_shared = run(torch.compile(adopt_and_write, backend=backend), device)
    assert compiled_shared == shared, "the input does not share its new storage"
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_adopt_and_write("cpu", "aot_eager")
