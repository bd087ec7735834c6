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
# check = "test_method_of_getattr"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'AttributeError: plus'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# check = "test_getattr_of_every_name"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "argument of type 'NoneType' is not iterable"
# frame = 'builder\.py:\d+ _automatic_dynamic'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2"
# check = "test_getattr_of_every_name"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "has no attribute '__tensor_flatten__'"
# ///
"""The method that __getattr__ makes is looked up on the fake tensor of the plain class, which has no such attribute.
Where __getattr__ answers every name, as in the issue, Dynamo asks the tensor for attributes of its own and believes the
answer: the subclass is taken for a wrapper of other tensors, although the class has no __tensor_flatten__.
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


def total_of_every_name() -> torch.Tensor:
    class Adding(torch.Tensor):
        def __getattr__(self, name: str):
            return (lambda other: self + other) if name == "plus" else None

    return Adding([1.0, 2.0]).plus(torch.tensor([10.0, 20.0]))


def test_getattr_of_every_name(backend: str) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return total_of_every_name() + y

    values = torch.compile(call, backend=backend)(torch.ones(2)).tolist()
    assert values == [13.0, 24.0], f"the sum with every name is {values}"


if __name__ == "__main__":
    test_getattr_of_every_name("eager")
    test_method_of_getattr("eager")
