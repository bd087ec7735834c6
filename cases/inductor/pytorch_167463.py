# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/167463"
# fix = "https://github.com/pytorch/pytorch/pull/185049"
# upstream = "open"
# upstream-seen = 2026-11-25
# reported-on = "2.9.0"
# title = "The FX graph cache gives code for one thread after the number of threads was raised"
# component = "inductor"
# symptom = "recompilation"
# devices = ["cpu"]
# requires-torch = ">=2.3"
# labels = ["cache", "threads"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "0 threads are started by a loop for two"
# ///
"""The generated loop is written for the number of threads that torch has when it is compiled, and the key of Inductor's FX
graph cache does not hold that number. A compilation after torch.set_num_threads gets the code of before. The first
parallel loop of the process starts the threads, so their number tells. Correct: a loop for two threads.
Source: pytorch issue 167463, PR 185049.
"""

import os

import torch
import torch._inductor.config


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_second_thread(backend: str) -> None:
    x = torch.zeros(1 << 20)
    with torch._inductor.config.patch(fx_graph_cache=True):
        torch.set_num_threads(1)
        torch.compile(plus_one, backend=backend)(x)
        before = len(os.listdir("/proc/self/task"))
        torch.set_num_threads(2)
        torch._dynamo.reset()
        actual = torch.compile(plus_one, backend=backend)(x)
    started = len(os.listdir("/proc/self/task")) - before
    assert actual.eq(1).all(), "zero plus one is not one"
    assert started == 1, f"{started} threads are started by a loop for two"


if __name__ == "__main__":
    test_second_thread("inductor")
