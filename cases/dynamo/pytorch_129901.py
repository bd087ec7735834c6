# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/129901"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The weights of a module that torch.fx has traced are never freed once it is compiled"
# component = "dynamo"
# symptom = "memory"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "the weight of a traced module is alive after its last use and a collection"
# ///
"""torch.fx.symbolic_trace gives a module whose forward is generated code, and what Dynamo compiled for that code holds the
weights. The module goes with its last reference, its weights do not. Correct: a collection frees the weights, too.
Source: pytorch issue 129901.
"""

import gc
import weakref

import torch


def weight_of_a_used_module(device: str, backend: str) -> weakref.ref:
    traced = torch.fx.symbolic_trace(torch.nn.Linear(4, 6).to(device))
    x = torch.ones(6, 4, device=device)
    torch.testing.assert_close(torch.compile(traced, backend=backend)(x), traced(x))
    return weakref.ref(traced.weight)


def test_weight_is_freed(device: str, backend: str) -> None:
    weight = weight_of_a_used_module(device, backend)
    gc.collect()
    assert weight() is None, "the weight of a traced module is alive after its last use and a collection"


if __name__ == "__main__":
    test_weight_is_freed("cpu", "eager")
