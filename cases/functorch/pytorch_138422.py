# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138422"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A batched vector-Jacobian product of a compiled function fails"
# component = "functorch"
# symptom = "internal-error"
# kind = "limitation"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6"
# outcome = "raise"
# error = "RuntimeError"
# match = "trying to call a compiled backward function within vmap"
# ///
"""vmap over torch.autograd.grad sends batched gradients into the compiled function's backward, an
autograd.Function that has no batching rule. Correct: the Jacobian, as for the function uncompiled. Source: pytorch
issue 138422.
"""

import torch


def squared(x: torch.Tensor) -> torch.Tensor:
    return x**2


def test_jacobian_by_rows(device: str, backend: str) -> None:
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = torch.compile(squared, backend=backend)(x)
    rows = torch.eye(2, device=device)
    jacobian = torch.func.vmap(lambda v: torch.autograd.grad(y, x, v)[0])(rows)
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]], f"Jacobian is {jacobian.tolist()}"


if __name__ == "__main__":
    test_jacobian_by_rows("cpu", "aot_eager")
