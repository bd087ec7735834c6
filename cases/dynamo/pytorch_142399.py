# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/142399"
# fix = "https://github.com/pytorch/pytorch/pull/142437"
# title = "An attribute of a NamedTuple is read through the class's own __getitem__"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^(RuntimeError: )?indexed instead of read by name'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/guards\.py:\d+ get\n\S+guards\.py:\d+ TENSOR_MATCH'
# ///
"""Dynamo gives the fields of a namedtuple the sources that items of a tuple have, so reading a field, and checking its
guard, is value[i] and calls __getitem__ where a class overrides it. Correct: a field is an attribute, and
__getitem__ is not called, as in eager. Source: pytorch issue 142399.
"""

from typing import NamedTuple

import torch


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor

    def __getitem__(self, index):
        raise RuntimeError("indexed instead of read by name")


def add(pair: Pair) -> torch.Tensor:
    return pair.a + pair.b


def test_fields_by_name(device: str, backend: str) -> None:
    one = torch.ones(2, device=device)
    compiled = torch.compile(add, backend=backend)
    for factor in (1, 4):
        torch.testing.assert_close(compiled(Pair(one, one * factor)), one * (1 + factor), rtol=0, atol=0)


if __name__ == "__main__":
    test_fields_by_name("cpu", "eager")
