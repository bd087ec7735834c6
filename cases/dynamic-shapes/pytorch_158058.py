# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/158058"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "arange between the two elements of a tensor: an unbacked symbol stays pending"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'PendingUnbackedSymbolNotFound: Pending unbacked symbols \{u\d+, u\d+\} not in returned outputs F'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'Pending unbacked symbols \{u\d+, u\d+\} not in returned outputs FakeTensor\(\.\.\., size=\(u\d+ - u\d+,\),'
# blocked = true
# ///
"""With capture_scalar_outputs the tensor is unpacked into two values whose symbols are made while the call of arange
is traced, and are in none of its outputs. Correct: the range, or a graph break.
Source: pytorch issue 158058.
"""

import torch
import torch._dynamo


def between(bounds: torch.Tensor) -> torch.Tensor:
    low, high = bounds
    return torch.arange(low, high)


def test_unpacked_bounds(device: str, backend: str) -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        values = torch.compile(between, backend=backend)(torch.tensor([2, 4], device=device)).tolist()
    assert values == [2, 3], f"the range from 2 to 4 is {values}"


if __name__ == "__main__":
    test_unpacked_bounds("cpu", "eager")
