# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159139"
# fix = "https://github.com/pytorch/pytorch/pull/159208"
# title = "A compiled empty ModuleList is true"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "bool\\(\\) of a compiled empty ModuleList is True"
# ///
"""torch.compile wraps a module in an OptimizedModule, which forwards attributes but defined no __len__; Python
looks special methods up on the type, so truth and len() of a compiled container do not reach the container:
an empty ModuleList becomes true. Correct: bool() of the compiled container is that of the container.
Source: pytorch issue 159139.
"""

import torch


def test_truth_of_an_empty_container(device: str, backend: str) -> None:
    modules = torch.nn.ModuleList().to(device)
    compiled = torch.compile(modules, backend=backend)
    assert bool(compiled) == bool(modules), f"bool() of a compiled empty ModuleList is {bool(compiled)}"


if __name__ == "__main__":
    test_truth_of_an_empty_container("cpu", "eager")
