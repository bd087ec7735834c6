# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/182594"
# fix = "https://github.com/pytorch/pytorch/pull/176742"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A checkpointed function recompiles for keyword arguments that it never reads"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["checkpoint", "recompilation"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = "the checkpointed block compiled 3 times, the plain one 1 times"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = 'from user code:\s+File "torch/random\.py", line \d+, in get_rng_state'
# frame = 'torch/_dynamo/variables/builder\.py:\d+ wrap_fx_proxy_cls'
# ///
"""Dynamo guards an argument when its variable is realized, which is when traced code reads it. To pass the
arguments of torch.utils.checkpoint on to the higher order operator it realized all of them, so a flag that
the body does not read is guarded by its value. Correct: no guard on what is not read, as in the call without
checkpoint, and one compilation for all values of the flag. Source: pytorch issue 182594.
"""

import torch
from torch.utils.checkpoint import checkpoint


def block(x: torch.Tensor, *, layer: object = None) -> torch.Tensor:
    return x.sin() * 2


def plain(x: torch.Tensor, **kwargs: object) -> torch.Tensor:
    return block(x, **kwargs)


def checkpointed(x: torch.Tensor, **kwargs: object) -> torch.Tensor:
    return checkpoint(block, x, use_reentrant=False, **kwargs)


def count_compilations(fn, device: str) -> int:
    compilations = []

    def backend(graph_module, example_inputs):
        compilations.append(graph_module)
        return graph_module

    compiled = torch.compile(fn, backend=backend)
    for layer in (None, True, "last"):
        x = torch.arange(3.0, device=device, requires_grad=True)
        torch.testing.assert_close(compiled(x, layer=layer), x.sin() * 2)
    return len(compilations)


def test_unread_keyword_is_not_guarded(device: str) -> None:
    expected = count_compilations(plain, device)
    actual = count_compilations(checkpointed, device)
    assert actual == expected, f"the checkpointed block compiled {actual} times, the plain one {expected} times"


if __name__ == "__main__":
    test_unread_keyword_is_not_guarded("cpu")
