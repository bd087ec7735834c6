# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133483"
# fix = "https://github.com/pytorch/pytorch/pull/136033"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A function decorated with contextlib.contextmanager breaks the graph"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["context-manager", "generator"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'skip function deeper in file contextlib\.py|call_function deeper in skip_files contextlib\.py'
# ///
"""The context manager is a generator that is advanced by __enter__ and __exit__. Dynamo could neither trace the
library's wrapper nor suspend a generator. Correct: one graph, and the counter is back where it was. Source:
pytorch issue 133483, PR 136033.
"""

import contextlib

import torch

depth = 0


@contextlib.contextmanager
def deeper():
    global depth
    depth += 1
    try:
        yield
    finally:
        depth -= 1


def shifted(x: torch.Tensor) -> torch.Tensor:
    with deeper():
        return x + depth


def test_context_manager_from_a_generator(device: str, backend: str) -> None:
    actual = torch.compile(shifted, backend=backend, fullgraph=True)(torch.zeros(1, device=device)).item()
    assert (actual, depth) == (1.0, 0), f"sum and depth are {(actual, depth)}"


if __name__ == "__main__":
    test_context_manager_from_a_generator("cpu", "eager")
