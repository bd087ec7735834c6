# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133063"
# fix = "https://github.com/pytorch/pytorch/pull/150965"
# title = "list.extend with a generator that reads the list sees it as it was"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the chain is \[0\.0, 1\.0, 1\.0, 1\.0\]'
# ///
"""list.extend takes the items of a generator one at a time, so that each step sees what the former ones appended.
Dynamo ran the generator to its end first and appended then. Correct: a chain, each item one more than the item
before.
Source: pytorch issue 133063 (148144 for export).
"""

import torch


def chain(x: torch.Tensor) -> list[torch.Tensor]:
    items = [x]
    items.extend(items[-1] + 1 for _ in range(3))
    return items


def test_each_step_sees_the_former(device: str, backend: str) -> None:
    values = [item.item() for item in torch.compile(chain, backend=backend)(torch.zeros((), device=device))]
    assert values == [0.0, 1.0, 2.0, 3.0], f"the chain is {values}"


if __name__ == "__main__":
    test_each_step_sees_the_former("cpu", "eager")
