# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194323"
# upstream = "open"
# upstream-seen = 2026-11-25
# reported-on = "2.13.0"
# title = "A tensor subclass with __getattr__ that is made in the compiled function"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["subclass"]
# demands = ["subclass"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'AttributeError: plus'
# ///
"""The method that __getattr__ makes is looked up on the fake tensor of the plain class, which has no such attribute.
Correct: eager's sum.
Source: pytorch issue 194323.
"""

import torch


def total() -> torch.Tensor:
    class Adding(torch.Tensor):
        def __getattr__(self, name: str):
            if name == "plus":
                return lambda other: self + other
            raise AttributeError(name)

    return Adding([1.0, 2.0]).plus(torch.tensor([10.0, 20.0]))


def test_method_of_getattr(backend: str) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return total() + y

    values = torch.compile(call, backend=backend)(torch.ones(2)).tolist()
    assert values == [13.0, 24.0], f"the sum is {values}"


if __name__ == "__main__":
    test_method_of_getattr("eager")
