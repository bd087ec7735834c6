# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.0", "numpy<2", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/119607"
# fix = "https://github.com/pytorch/pytorch/pull/120756"
# upstream = "closed"
# upstream-seen = 2026-11-24
# reported-on = "2.2.0"
# title = "The parameters of a compiled module are never freed"
# component = "dynamo"
# symptom = "memory"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "parameter still alive after its module was deleted and collected"
# ///
"""The captured graph owned the module's parameters, and the code cache that owned the graph hung on a
code object that outlives the module, guards and all; deleting the module and its compiled wrapper left a
full copy of the weights behind, for good. Correct: with the last user reference gone, a collection frees
module and parameters. Source: issue 119607 (also 122969, 104095).
"""

import gc
import weakref

import torch


def parameter_of_used_module(device: str, backend: str) -> weakref.ref:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()).to(device)
    x = torch.ones(3, device=device)
    torch.testing.assert_close(torch.compile(module, backend=backend)(x), module(x))
    return weakref.ref(module[0].weight)


def test_parameters_are_freed(device: str, backend: str) -> None:
    parameter = parameter_of_used_module(device, backend)
    gc.collect()
    assert parameter() is None, "parameter still alive after its module was deleted and collected"


if __name__ == "__main__":
    test_parameters_are_freed("cpu", "eager")
