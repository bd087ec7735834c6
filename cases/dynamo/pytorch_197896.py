# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197896"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.14.0"
# title = "Mutations of a captured list/dict by a method of an object made while tracing are dropped"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# check = "test_dict"
# outcome = "wrong"
# error = "AssertionError"
# match = "captured container \\{'calls': 0\\}, in eager \\{'calls': 2\\}"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# check = "test_list"
# outcome = "wrong"
# error = "AssertionError"
# match = 'captured container \[\], in eager \[3, 3\]'
# ///
"""An object created while tracing has no source, and the methods looked up on it get none either. The cells
of such a method's closure are then taken for new containers, local to the trace, and what the method did to
the captured list or dict is not replayed after the graph. Correct: each call changes the container as in
eager. Source: issue 197896, PR 198055 (open).
"""

import torch


def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def make_list_recorder():
    log = []

    class Recorder:
        def note(self, size: int) -> None:
            log.append(size)

    def double(x: torch.Tensor) -> torch.Tensor:
        y = scale(x)
        Recorder().note(x.size(0))
        return y

    return double, log


def make_dict_recorder():
    log = {"calls": 0}

    class Recorder:
        def note(self) -> None:
            log["calls"] += 1

    def double(x: torch.Tensor) -> torch.Tensor:
        y = scale(x)
        Recorder().note()
        return y

    return double, log


def compare(make, device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device)
    eager, expected = make()
    fn, actual = make()
    compiled = torch.compile(fn, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), eager(x), rtol=0, atol=0)
    assert actual == expected, f"captured container {actual}, in eager {expected}"


def test_list(device: str, backend: str) -> None:
    compare(make_list_recorder, device, backend)


def test_dict(device: str, backend: str) -> None:
    compare(make_dict_recorder, device, backend)


if __name__ == "__main__":
    test_list("cpu", "eager")
    test_dict("cpu", "eager")
