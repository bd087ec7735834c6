# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/128651"
# fix = "https://github.com/pytorch/pytorch/pull/136033"
# same-fix = "pytorch_133483"
# title = "A context manager with a side effect in finally is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["context-manager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function test_list_is_changed_once\.<locals>\.noted in skip_files contextlib\.py'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "'skip function test_list_is_changed_once\\.<locals>\\.noted in file contextlib\\.py'', skipped a"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "'skip function test_list_is_changed_once\\.<locals>\\.noted in file contextlib\\.py'"
# ///
"""A generator that is wrapped by contextlib.contextmanager broke the graph where its finally changes a list. Correct: one graph, and
the list is changed once.
Source: pytorch issue 128651.
"""

import contextlib
from collections.abc import Iterator

import torch


def test_list_is_changed_once(device: str, backend: str) -> None:
    seen: list[int] = []

    @contextlib.contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        finally:
            seen.append(4)

    def shifted(x: torch.Tensor) -> torch.Tensor:
        with noted():
            return x + 1

    torch.compile(shifted, backend=backend, fullgraph=True)(torch.zeros(2, device=device))
    assert seen == [4], f"the list is {seen}"


if __name__ == "__main__":
    test_list_is_changed_once("cpu", "eager")
