# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148058"
# title = "A scatter whose index is constant: the code generator looks for a name in a number"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "'int' object has no attribute 'find'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.8"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "'int' object has no attribute 'find'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "'int' object has no attribute 'count'"
# ///
"""The index of the scatter is a constant, and reads of it become the number itself. The check of bounds in the C++
code generator expects text. Correct: a 1 at the index, and a 0 or 1 beside it.
Source: pytorch issue 148058.
"""

import torch
import torch.nn.functional as F


def chosen(x: torch.Tensor) -> torch.Tensor:
    x = F.gumbel_softmax(x, tau=1.0, hard=True)
    x = torch.where(x > 0.5, x, torch.zeros_like(x))
    return torch.scatter(x, dim=1, index=torch.ones(1, 2, dtype=torch.long), src=torch.ones_like(x))


def test_constant_index(device: str, backend: str) -> None:
    out = torch.compile(chosen, backend=backend)(torch.zeros(1, 2, device=device))
    first, second = out[0].tolist()
    assert second == 1 and first in (0, 1), f"the row is {first}, {second}"


if __name__ == "__main__":
    test_constant_index("cpu", "inductor")
