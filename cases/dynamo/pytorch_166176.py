# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/166176"
# fix = "https://github.com/pytorch/pytorch/pull/166040"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A break under two nested no_grad after a break: KeyError in the resumed function"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["context-manager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^(KeyError: )?\d+\s'
# frame = 'resume_execution\.py'
# ///
"""Python 3.11 keeps handlers in a table beside the bytecode. In the function that resumes after the first break, the second
break meets two blocks, of which the outer one has no entry in the map of block targets. Correct: x + 1.
Source: pytorch issue 166176, PR 166924.
"""

import torch


def nested(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    with torch.no_grad(), torch.no_grad():
        torch._dynamo.graph_break()
    return x + 1


def test_break_under_two_blocks(device: str, backend: str) -> None:
    value = torch.compile(nested, backend=backend)(torch.zeros(1, device=device)).item()
    assert value == 1.0, f"0 + 1 is {value}"


if __name__ == "__main__":
    test_break_under_two_blocks("cpu", "eager")
