# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198190"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "A generator returned from a compiled function has lost its return value"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["generator"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "StopIteration carries None"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = "^\\s*from user code"
# frame = "symbolic_convert\\.py:\\d+ inline_call_"
# ///
"""A generator that leaves the compiled region is rebuilt for the caller. Dynamo runs it to its end and hands over an
iterator of the tuple of what it yielded: its return value is gone, as are send() and throw(). Correct:
StopIteration carries what the generator returns. Source: pytorch issue 198190.
"""

from collections.abc import Iterator

import torch


def make(x: torch.Tensor) -> Iterator[torch.Tensor]:
    def numbers():
        yield x + 1
        return "end"

    return numbers()


def test_return_value(device: str, backend: str) -> None:
    generator = torch.compile(make, backend=backend)(torch.zeros(2, device=device))
    assert next(generator).tolist() == [1.0, 1.0]
    try:
        next(generator)
    except StopIteration as stop:
        assert stop.value == "end", f"StopIteration carries {stop.value}"


if __name__ == "__main__":
    test_return_value("cpu", "eager")
