# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/126818"
# fix = "https://github.com/pytorch/pytorch/pull/126909"
# title = "torch.cond does not take plain torch functions as branches"
# component = "higher-order-ops"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# labels = ["control-flow"]
# demands = ["control-flow"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "AssertionError"
# match = "TorchInGraphFunctionVariable"
# ///
"""To trace the branches of torch.cond Dynamo calls them as user functions. A torch function, such as torch.add,
is another kind of variable, and an assertion on the kind fails instead of the function being put into the
branch's graph. Correct: it works as it does with a lambda around it.
Source: pytorch issue 126818.
"""

import torch


def combine(choice: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.cond(choice, torch.add, torch.mul, (x, y))


def test_torch_functions_as_branches(device: str, backend: str) -> None:
    x, y = torch.full((2,), 3.0, device=device), torch.full((2,), 4.0, device=device)
    compiled = torch.compile(combine, backend=backend, fullgraph=True)
    for choice, expected in ((True, x + y), (False, x * y)):
        torch.testing.assert_close(compiled(torch.tensor(choice, device=device), x, y), expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_torch_functions_as_branches("cpu", "eager")
