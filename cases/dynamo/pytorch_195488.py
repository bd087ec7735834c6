# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195488"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An exception inside a compiled autocast region leaves the autocast state behind"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["context-manager"]
# demands = ["autocast"]
#
# [[tool.pt2bugs.bug]]
# check = "test_nesting_depth"
# outcome = "wrong"
# error = "AssertionError"
# match = "nesting depth rose by 1$"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# check = "test_enabled_flag"
# outcome = "wrong"
# error = "AssertionError"
# match = "autocast is still enabled"
# ///
"""Dynamo lowers "with torch.autocast" to two calls in the graph, one before and one after the body. A graph has
no "finally", so an exception that the body raises at run time skips the second call: autocast's nesting depth
stays raised by one, and in older releases autocast itself stays enabled. Correct: the state is as it was
before the call.
Source: pytorch issue 195488, PR 195654 (open).
"""

import torch


def select(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x.index_select(0, index)


def call_that_raises(backend: str) -> None:
    try:
        torch.compile(select, backend=backend, fullgraph=True)(torch.zeros(4, 4), torch.tensor([99]))
    except (IndexError, RuntimeError) as error:
        assert "out of range" in str(error), error
    else:
        raise AssertionError("index 99 of 4 rows was accepted")


def test_nesting_depth(backend: str) -> None:
    before = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    call_that_raises(backend)
    after = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    assert after == before, f"autocast's nesting depth rose by {after - before}"


def test_enabled_flag(backend: str) -> None:
    call_that_raises(backend)
    assert torch.get_autocast_cpu_dtype() is torch.bfloat16
    assert not torch.is_autocast_cpu_enabled(), "autocast is still enabled after the exception"


if __name__ == "__main__":
    test_nesting_depth("eager")
    test_enabled_flag("eager")
