# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/165385"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A refused attribute write inside try is replayed after the graph, outside the handler"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "AttributeError"
# match = "attribute '__weakref__' of 'Holder' objects is not writable"
# ///
"""Dynamo records attribute writes as side effects and performs them after the graph, on the assumption that a
write succeeds. A write that the type refuses, here to __weakref__, raises then, where no handler of the frame
is active. Correct: the AttributeError is raised at the write, and the function's own handler runs.
Source: pytorch issue 165385, PR 185079 (closed).
"""

import torch


class Holder:
    pass


def set_or_add(x: torch.Tensor, holder: Holder) -> torch.Tensor:
    try:
        holder.__weakref__ = None
    except AttributeError:
        return x + 1
    return x - 1


def test_refused_attribute_write(device: str, backend: str) -> None:
    actual = torch.compile(set_or_add, backend=backend)(torch.zeros(1, device=device), Holder()).item()
    assert actual == 1.0, f"the handler did not run: {actual}"


if __name__ == "__main__":
    test_refused_attribute_write("cpu", "eager")
