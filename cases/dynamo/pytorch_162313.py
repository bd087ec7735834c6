# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/162313"
# same-fix = "pytorch_166176"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A break under no_grad in either branch after a break: KeyError in the resumed function"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["context-manager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^(KeyError: )?\d+\s'
# frame = 'resume_execution\.py'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^(KeyError: )?\d+\s'
# frame = 'resume_execution\.py'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "cannot access free variable 'block_target_offset_remap' where it is not associated with a"
# ///
"""Python 3.11 keeps handlers in a table beside the bytecode. The function that resumes after the first break is compiled for
the first branch, and the second branch asks it for the target of a block that it has never met. Correct: either branch.
Source: pytorch issue 162313; a regression test of PyTorch's names it.
"""

import torch


def test_other_branch(device: str, backend: str) -> None:
    first = True

    def branches(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        torch._dynamo.graph_break()
        x = x + 2
        if first:
            with torch.no_grad():
                torch._dynamo.graph_break()
            x = x + 4
        else:
            with torch.no_grad():
                torch._dynamo.graph_break()
            x = x + 8
        return x + 16

    compiled, values = torch.compile(branches, backend=backend), []
    for first in (True, False):
        values.append(compiled(torch.zeros(1, device=device)).item())
    assert values == [23.0, 27.0], f"the two branches give {values}"


if __name__ == "__main__":
    test_other_branch("cpu", "eager")
