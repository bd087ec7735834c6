# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183261"
# fix = "https://github.com/pytorch/pytorch/pull/183337"
# title = "Constructing a tensor subclass in compiled code raises KeyError: class_type"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["subclass"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "KeyError: class_type"
# ///
"""Calling a tensor subclass that defines nothing of its own, as Marked(x), is traced by way of the class's
__new__, and Dynamo looks up the type of the new object under a key that the example value's metadata does not
have. Correct: an instance of the subclass, as in eager.
Source: pytorch issue 183261.
"""

import torch


class Marked(torch.Tensor):
    pass


def magnitude(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    result = torch.abs(Marked(x))
    return result, x + 1


def test_construct_a_subclass(backend: str) -> None:
    result, _ = torch.compile(magnitude, backend=backend)(torch.tensor([-1.0, 2.0]))
    assert type(result) is Marked, f"the result is a {type(result).__name__}"
    assert result.tolist() == [1.0, 2.0], f"magnitudes {result.tolist()}"


if __name__ == "__main__":
    test_construct_a_subclass("eager")
