# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172000"
# fix = "https://github.com/pytorch/pytorch/pull/173184"
# title = "A property setter of a mapping that is made in the compiled function"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.11"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "object of type 'NoneType' has no len\\(\\)"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'variables/constant\.py:\d+ call_method'
# blocked = true
# ///
"""The class is an abstract MutableMapping, not a dict, and is constructed while tracing. Its setter ran on an example
object on which __init__ had never run. Correct: the setter sees the attributes that __init__ set.
Source: pytorch issue 172000.
"""

from collections.abc import Iterator, MutableMapping

import torch


class Batch(MutableMapping):
    def __init__(self, data: dict, size: tuple) -> None:
        self._data, self._size, self._names = data, size, None

    def __getitem__(self, key: str):
        return self._data[key]

    def __setitem__(self, key: str, value) -> None:
        self._data[key] = value

    def __delitem__(self, key: str) -> None:
        del self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    @property
    def names(self) -> list:
        return self._names

    @names.setter
    def names(self, value: list) -> None:
        self._names = list(value) + [None] * (len(self._size) - len(value))


def named(x: torch.Tensor) -> torch.Tensor:
    batch = Batch({"x": x}, (3, 4))
    batch.names = ["row"]
    return batch["x"] + len(batch._names)


def test_setter_sees_the_object(device: str, backend: str) -> None:
    x = torch.zeros(3, 4, device=device)
    actual = torch.compile(named, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, x + 2, rtol=0, atol=0)


if __name__ == "__main__":
    test_setter_sees_the_object("cpu", "eager")
