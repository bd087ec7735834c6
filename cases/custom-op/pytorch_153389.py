# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/153389"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A custom operator that writes to views of one tensor has no effect before the next one"
# component = "custom-op"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.4"
# labels = ["custom-op"]
# demands = ["custom-op", "mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the second view has lost what the operator wrote'
# ///
"""Functionalized, two custom operators that write to their arguments work on clones, which are copied back at the end. The
pass that puts writes back in place takes the second one's views of the clone that was made before the first one ran.
Correct: eager's values in the inputs and in the output.
Source: pytorch issue 153389.
"""

import torch


@torch.library.custom_op("pt2bugs_153389::raise_both", mutates_args={"a", "b"})
def raise_both(a: torch.Tensor, b: torch.Tensor) -> None:
    a.add_(1)
    b.add_(2)


@torch.library.custom_op("pt2bugs_153389::sum_into", mutates_args={"out"})
def sum_into(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(a + b)


def raised_and_summed(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    raise_both(a, b)
    sum_into(a[0], b[0], out)


def test_writes_to_both_views_stay(device: str, backend: str) -> None:
    x = torch.arange(9.0, device=device).reshape(3, 3)
    out, expected = torch.zeros_like(x), x + torch.tensor([[1.0], [2.0], [0.0]], device=device)
    torch.compile(raised_and_summed, backend=backend, fullgraph=True)(x[0], x[1], out)
    assert torch.equal(x[0], expected[0]), "the first view has lost what the operator wrote"
    assert torch.equal(x[1], expected[1]), "the second view has lost what the operator wrote"
    assert torch.equal(out, torch.full_like(x, 6.0)), "the next operator has not seen what the first one wrote"


if __name__ == "__main__":
    test_writes_to_both_views_stay("cpu", "inductor")
