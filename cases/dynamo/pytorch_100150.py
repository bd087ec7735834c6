# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/100150"
# title = "A list that holds itself cannot be read"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'utils\.py:\d+ rename_implicit'
# ///
"""Dynamo builds a variable for each element of a list when it sees the list, and does not end on one that holds itself.
Correct: the function returns the list that eager returns.
Source: pytorch issue 100150; a regression test of PyTorch's names it.
"""

import torch


def test_list_in_itself(device: str, backend: str) -> None:
    root: list = []
    root[:] = [root, root, None]

    def shifted(x: torch.Tensor) -> tuple[torch.Tensor, list]:
        return x + 1, root[0]

    torch.compile(lambda x: x + 1, backend=backend)(torch.zeros(1, device=device))
    value, found = torch.compile(shifted, backend=backend)(torch.zeros(1, device=device))
    assert value.item() == 1.0 and found is root, f"0 + 1 is {value.item()}, the list is the same: {found is root}"


if __name__ == "__main__":
    test_list_in_itself("cpu", "eager")
