# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/132929"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "autograd.grad of one compiled output with respect to another compiled output raises"
# component = "aotautograd"
# symptom = "internal-error"
# kind = "limitation"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "RuntimeError"
# match = "differentiated Tensors? .*appears? to not have been used in the graph"
# ///
"""AOTAutograd wraps the whole compiled region in one autograd.Function: its outputs are siblings, and the
autograd engine sees no edge from the loss to the hidden value it was computed from. Differentiating one
output by the other therefore finds nothing, although eager has the path. Correct: eager's gradient, 2 *
hidden. Source: issue 132929; PR 186339 proposed a clearer error.
"""

import torch


def hidden_and_loss(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    hidden = torch.sin(x * w)
    return hidden, (hidden**2).sum()


def test_grad_of_output_by_output(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 5, device=device)
    w = torch.linspace(1, 2, 5, device=device, requires_grad=True)
    hidden, loss = hidden_and_loss(x, w)
    (expected,) = torch.autograd.grad(loss, hidden)
    hidden, loss = torch.compile(hidden_and_loss, backend=backend)(x, w)
    (actual,) = torch.autograd.grad(loss, hidden)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_grad_of_output_by_output("cpu", "aot_eager")
