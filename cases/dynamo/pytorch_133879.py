# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133879"
# fix = "https://github.com/pytorch/pytorch/pull/141055"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "zip() with an infinite iterator is not supported (Dynamo drains the iterator)"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["generator", "iterator"]
# demands = []
# timeout = 30
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# check = "test_zip_with_count"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "count in skip_files|zip.*CountIteratorVariable"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# check = "test_zip_with_generator"
# outcome = "timeout"
# frame = 'symbolic_convert\.py:\d+ inline_call_\n\S+symbolic_convert\.py:\d+ inline_call\n'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# check = "test_zip_with_generator"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Too many yield values in generator"
# ///
"""Dynamo inlined a generator by running it to its end and keeping the list of what it yielded, so an
infinite one is cut off after many values, or never ends; itertools.count had no iterator that zip could
step. zip stops at its shortest argument, so both programs are finite. Correct: a generator is stepped
lazily; no graph break, result equals eager. fullgraph=True, since the bug is the break. Source: issue
133879.
"""

import itertools
from collections.abc import Iterator

import torch


def naturals() -> Iterator[int]:
    n = 0
    while True:
        yield n
        n += 1


def scale_with_count(xs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x * n for n, x in zip(itertools.count(), xs)]


def scale_with_generator(xs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x * n for n, x in zip(naturals(), xs)]


def compare(fn, device: str, backend: str) -> None:
    xs = [torch.ones(3, device=device) for _ in range(3)]
    torch.testing.assert_close(torch.compile(fn, backend=backend, fullgraph=True)(xs), fn(xs))


def test_zip_with_count(device: str, backend: str) -> None:
    compare(scale_with_count, device, backend)


def test_zip_with_generator(device: str, backend: str) -> None:
    compare(scale_with_generator, device, backend)


if __name__ == "__main__":
    test_zip_with_generator("cpu", "eager")
    test_zip_with_count("cpu", "eager")
