# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/131893"
# title = "The size of an argument that is not used recompiles"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# outcome = "wrong"
# error = "AssertionError"
# match = "2 graphs for two sizes of an argument that is not used"
# ///
"""The second argument is bound to another name and does not reach the graph, and still all of its metadata is
guarded. Correct: one compilation for any size of it.
Source: pytorch issue 131893.
"""

import torch
from torch._dynamo.utils import counters


def double(x: torch.Tensor, unused: torch.Tensor) -> torch.Tensor:
    alias = unused  # noqa: F841
    return x * 2


def test_size_of_the_unused_argument(device: str, backend: str) -> None:
    counters.clear()
    compiled = torch.compile(double, backend=backend, dynamic=False)
    for size in (3, 5):
        compiled(torch.ones(2, device=device), torch.ones(size, device=device))
    graphs = counters["stats"]["unique_graphs"]
    assert graphs == 1, f"{graphs} graphs for two sizes of an argument that is not used"


if __name__ == "__main__":
    test_size_of_the_unused_argument("cpu", "eager")
