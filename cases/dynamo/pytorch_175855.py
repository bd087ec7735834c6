# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/175855"
# fix = "https://github.com/pytorch/pytorch/pull/160154"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Iterating a list that grows during iteration inside a generator stops at the original length"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["generator", "iterator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 3 \([\d.]+%\)\nGreatest absolute difference: 28\.0 '
# ///
"""Python's list iterator looks at the list anew at every step, so a loop that appends to the list it walks
also visits what it appended. Dynamo unpacks the list's elements once, when the loop inside the traced
generator starts, and the later ones are never seen. Correct: equals eager, which visits all of them.
Source: issue 175855.
"""

import torch


def visit_while_growing(x: torch.Tensor) -> torch.Tensor:
    queue = [x]

    def drain():
        for item in queue:
            if len(queue) < 4:
                queue.append(item * 2)
            yield item

    return torch.stack(list(drain())).sum(0)


def test_growing_list(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device)
    actual = torch.compile(visit_while_growing, backend=backend)(x)
    torch.testing.assert_close(actual, visit_while_growing(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_growing_list("cpu", "eager")
