# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/187319"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "A custom operator with a corrected schema gets the graph that was cached for the wrong one"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.4"
# labels = ["cache", "custom-op"]
# demands = ["custom-op", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# blocked = true
# outcome = "raise"
# error = "AttributeError"
# match = 'torch\._functorch\.config\.enable_autograd_cache does not exist'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = 'one more than the filled 7 is \[1\.0\]'
# ///
"""The key of the graph caches names an operator but not its schema. An operator that was declared without a mutated
argument has no effect, so its call is dropped; with the schema corrected the graph has the same key, and the cached
code without the call is used again. Correct: the argument is filled.
Source: pytorch issue 187319.
"""

import torch


def declare(argument: str) -> torch.library.Library:
    library = torch.library.Library("pt2bugs_187319", "FRAGMENT")
    library.define(f"fill({argument} out) -> ()")
    library.impl("fill", lambda out: out.fill_(7) and None, "CompositeExplicitAutograd")
    library.impl("fill", lambda out: None, "Meta")
    return library


def filled(out: torch.Tensor) -> torch.Tensor:
    torch.ops.pt2bugs_187319.fill(out)
    return out + 1


def call(device: str, backend: str) -> list[float]:
    torch._dynamo.reset()
    return torch.compile(filled, backend=backend, fullgraph=True)(torch.zeros(1, device=device)).tolist()


def test_schema_is_corrected(device: str, backend: str) -> None:
    torch._inductor.config.fx_graph_cache = True
    torch._functorch.config.enable_autograd_cache = True
    library = declare("Tensor")
    call(device, backend)
    library._destroy()
    vars(torch.ops.pt2bugs_187319).pop("fill", None)
    library = declare("Tensor(a!)")
    actual = call(device, backend)
    assert actual == [8.0], f"one more than the filled 7 is {actual}"


if __name__ == "__main__":
    test_schema_is_corrected("cpu", "inductor")
