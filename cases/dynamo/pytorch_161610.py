# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/161610"
# fix = "https://github.com/pytorch/pytorch/pull/161645"
# title = "An attribute set on a namedtuple-subclass argument is lost"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "the attribute set in the compiled function is missing"
# ///
"""A subclass of a NamedTuple has a __dict__ and may get further attributes. Dynamo models the argument as a
namedtuple and accepts the attribute write while tracing, but has no side effect for it to replay after the
graph: the object comes back without the attribute. Correct: the attribute is there, with eager's value.
Source: pytorch issue 161610.
"""

from typing import NamedTuple

import torch


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class PairWithSum(Pair):
    pass


def set_sum(pair: PairWithSum) -> None:
    pair.sum = pair.left + pair.right


def add_sum(x: torch.Tensor, pair: PairWithSum) -> tuple[torch.Tensor, PairWithSum]:
    y = x + 1
    set_sum(pair)
    return y * 2, pair


def test_attribute_of_a_namedtuple_subclass(device: str, backend: str) -> None:
    one = torch.ones(2, device=device)
    _, result = torch.compile(add_sum, backend=backend)(one, PairWithSum(one, one))
    assert hasattr(result, "sum"), "the attribute set in the compiled function is missing"
    torch.testing.assert_close(result.sum, one + one, rtol=0, atol=0)


if __name__ == "__main__":
    test_attribute_of_a_namedtuple_subclass("cpu", "eager")
