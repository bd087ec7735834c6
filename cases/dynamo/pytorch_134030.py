# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/134030"
# fix = "https://github.com/pytorch/pytorch/pull/141055"
# upstream = "closed"
# upstream-seen = 2026-11-24
# same-fix = "pytorch_133879"
# title = "The body of a generator runs before the context manager that surrounds its first next()"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["generator", "context-manager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the generator saw grad mode enabled: 1\.0'
# ///
"""Dynamo traced a generator's whole body where the generator was made, and not at next(). What the body does then
happens before the with statement that comes between. Correct: the body runs under the context manager. Source:
pytorch issue 134030.
"""

import torch


def grad_modes():
    yield torch.is_grad_enabled()


def step(x: torch.Tensor) -> torch.Tensor:
    modes = grad_modes()
    with torch.no_grad():
        enabled = next(modes)
    return x + 1 if enabled else x - 1


def test_body_runs_at_next(device: str, backend: str) -> None:
    actual = torch.compile(step, backend=backend)(torch.zeros(1, device=device)).item()
    assert actual == -1.0, f"the generator saw grad mode enabled: {actual}"


if __name__ == "__main__":
    test_body_runs_at_next("cpu", "eager")
