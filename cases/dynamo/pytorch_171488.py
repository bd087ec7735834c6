# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/171488"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A key that the function itself adds to a global dict makes the second call recompile"
# component = "dynamo"
# symptom = "recompilation"
# kind = "limitation"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["by-design", "recompilation"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "2 compilations for three equal calls"
# ///
"""Dynamo guards that the key is absent, as it was when the function was traced. The function adds it, so the guard
fails at the next call, with equal arguments. Correct: one compilation for all three. A maintainer calls it a
question of design.
Source: pytorch issue 171488.
"""

import torch
import torch._dynamo.testing

SEEN: dict[str, int] = {}


def once(x: torch.Tensor, key: str) -> torch.Tensor:
    if key not in SEEN:
        SEEN[key] = 1
    return x.sin()


def test_equal_calls_share_one_graph() -> None:
    SEEN.clear()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(once, backend=counter)
    for _ in range(3):
        compiled(torch.ones(2), "key")
    assert counter.frame_count == 1, f"{counter.frame_count} compilations for three equal calls"


if __name__ == "__main__":
    test_equal_calls_share_one_graph()
