# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/175857"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Audit hook that counts exec events makes the first compile fail its own guard"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.10"
# outcome = "raise"
# error = "AssertionError"
# match = '''Guard check failed: 0/0: G\['events'\]\['exec'\] == \d+'''
# ///
"""Dynamo builds its guard function with exec, which raises the "exec" audit event and so runs the user's
hook between tracing and the sanity check of the new guards. If the hook changes a value those guards
cover, the check fails and the first call dies of an assertion instead of running. Correct: the call
succeeds; both values of the counter lead to the same branch here, so the answer is eager's.
Source: issue 175857.
"""

import sys

import torch

events = {"exec": 0}


def count_exec(event: str, args: tuple) -> None:
    if event == "exec":
        events["exec"] += 1


def add_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if events["exec"] >= 0 else x - 1


def test_counting_audit_hook(device: str, backend: str) -> None:
    sys.addaudithook(count_exec)
    x = torch.arange(3.0, device=device)
    actual = torch.compile(add_one, backend=backend)(x)
    torch.testing.assert_close(actual, add_one(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_counting_audit_hook("cpu", "eager")
