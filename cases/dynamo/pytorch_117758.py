# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/117758"
# upstream = "closed"
# upstream-seen = 2026-11-24
# same-fix = "pytorch_115750"
# title = "A forward hook registered after the first compiled call never runs"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["hook", "by-design"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "forward hook ran 0 times"
# ///
"""Calling a module looks into its dicts of hooks. To save time on every call Dynamo puts no guard on a dict of
hooks that is empty (skip_nnmodule_hook_guards, on by default), so it does not see a hook that comes later and
runs the graph without it. Before torch 2.6 the guards of a compiled module still noticed. Correct: the hook
runs on the next call, as in eager. Source: pytorch issue 117758, PR 138942.
"""

import torch


def test_hook_after_the_first_call(device: str, backend: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).to(device)
    compiled = torch.compile(model, backend=backend)
    x = torch.ones(1, 2, device=device)
    compiled(x)
    calls = []
    model[0].register_forward_hook(lambda module, args, output: calls.append(output))
    compiled(x)
    assert len(calls) == 1, f"forward hook ran {len(calls)} times"


if __name__ == "__main__":
    test_hook_after_the_first_call("cpu", "eager")
