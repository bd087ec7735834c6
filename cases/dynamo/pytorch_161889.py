# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/161889"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A compiled function under selective activation checkpointing is not compiled"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["checkpoint"]
# demands = ["training"]
# requires-torch = ">=2.5"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "0 compiled graphs ran under the policy, 1 without one"
# ///
"""A policy of selective checkpointing works by two TorchDispatchModes, one around the forward and one around the
recomputation. Dynamo skips every frame that starts under such a mode, so the compiled function runs eagerly, without
a word. Correct: the function is compiled as under plain checkpointing, and the mode sees what the compiled
code runs. Source: pytorch issue 161889.
"""

import functools

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, noop_context_fn


def save_products(ctx, op, *args, **kwargs) -> CheckpointPolicy:
    save = op is torch.ops.aten.mm.default
    return CheckpointPolicy.MUST_SAVE if save else CheckpointPolicy.PREFER_RECOMPUTE


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (3 * x + 1) @ (2 * y + 1)


def count_graphs(context_fn, device: str, backend: str) -> int:
    torch._dynamo.reset()
    x = torch.arange(4.0, device=device).reshape(2, 2).requires_grad_()
    y = torch.eye(2, device=device)
    compiled = torch.compile(product, backend=backend)
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    out = checkpoint(compiled, x, y, use_reentrant=False, context_fn=context_fn)
    out.sum().backward()
    torch.testing.assert_close(out, product(x, y), rtol=0, atol=0)
    torch.testing.assert_close(x.grad, torch.full_like(x, 12.0), rtol=0, atol=0)
    return torch._dynamo.utils.counters["stats"]["unique_graphs"] - before


def test_policy_does_not_stop_compilation(device: str, backend: str) -> None:
    expected = count_graphs(noop_context_fn, device, backend)
    policy = functools.partial(create_selective_checkpoint_contexts, save_products)
    actual = count_graphs(policy, device, backend)
    assert actual == expected, f"{actual} compiled graphs ran under the policy, {expected} without one"


if __name__ == "__main__":
    test_policy_does_not_stop_compilation("cpu", "aot_eager")
