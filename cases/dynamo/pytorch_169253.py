# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/169253"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.9.0"
# title = "append to a list stored on a class is dropped"
# component = "dynamo"
# symptom = "wrong-result"
# # More graphs since torch 2.12: a list that has grown is compiled again; there is no graph break.
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'lost class-level list mutations: \[\] instead of \[2, 2, 2\]'
# ///
"""A list that is an attribute of a class is reached by a source Dynamo did not follow for side effects: the
append is traced on a copy, and no bytecode writes it back, so the caller's list stays empty. Correct: the
class-level list holds one entry per call, as in eager. Source: issue 169253.
"""

import torch


class Recorder(torch.nn.Module):
    seen: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Recorder.seen.append(x.shape[0])
        return x + 1


def sizes_seen(module, device: str) -> list[int]:
    Recorder.seen.clear()
    for _ in range(3):
        module(torch.zeros(2, device=device))
    return list(Recorder.seen)


def test_append_to_class_list(device: str, backend: str) -> None:
    expected = sizes_seen(Recorder(), device)
    actual = sizes_seen(torch.compile(Recorder(), backend=backend), device)
    assert actual == expected, f"lost class-level list mutations: {actual} instead of {expected}"


if __name__ == "__main__":
    test_append_to_class_list("cpu", "eager")
