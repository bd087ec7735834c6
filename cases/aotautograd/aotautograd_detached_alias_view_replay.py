# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/147638"
# title = "A detached alias of a returned view of an intermediate, with view replay"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.4"
#
# [tool.pt2bugs.demands]
# test_detached_and_view = ["training", "aliasing"]
# test_detached_and_view_dynamic = ["training", "aliasing", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "TypeError"
# match = '(?s)_functionalize_apply_view_metas\(\): .*TensorAlias'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "raise"
# error = "AssertionError"
# match = 'incorrect out shape after application of ViewMeta sequence: \(2, 3\) \(actual\) vs \(3, 2\)'
# ///
"""The detached output aliases another output, which itself aliases an intermediate, and AOTAutograd takes
that other output as the base to regenerate it from. Up to 2.6 the replay got the TensorAlias wrapper of
that base; since then it gets the tensor, but replays the views of the whole chain, the transpose a
second time, and stops at its own shape check. Correct: the detached output shares memory with the view,
needs no gradient, everything else is as in eager; here with view_replay_for_aliased_outputs on (the
default). Source: PR 147638, which fixed the first half.
"""

from collections.abc import Callable

import torch
import torch._functorch.config as functorch_config


def observe(fn: Callable, make: Callable) -> tuple[list, list[torch.Tensor]]:
    """What a caller can see: flags, identities, aliasing, values, the effect of later writes, gradients."""
    leaves, inputs = make()
    outputs = fn(*inputs)
    tensors = [*inputs, *outputs]
    places = [t.untyped_storage().data_ptr() for t in tensors]
    facts = [(t.requires_grad, t.is_leaf, t.dtype, tuple(t.shape), t.stride()) for t in tensors]
    facts += [[(a is b, a._base is b) for b in tensors] for a in tensors]
    facts += [[p == q for q in places] for p in places]
    values = [t.detach().clone() for t in tensors]
    for output in outputs:
        output.mul_(2)
    values += [t.detach().clone() for t in tensors]
    if leaves:
        values += torch.autograd.grad(sum((t * t).sum() for t in tensors if t.requires_grad), leaves)
    return facts, values


def check(fn: Callable, make: Callable, backend: str, **options: object) -> None:
    facts, values = observe(fn, make)
    compiled_facts, compiled_values = observe(torch.compile(fn, backend=backend, **options), make)
    assert compiled_facts == facts, f"compiled {compiled_facts}, eager {facts}"
    torch.testing.assert_close(compiled_values, values)


def detached_and_view(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    view = (a + 1).transpose(0, 1)
    return view.detach(), view


def inputs(device: str) -> tuple[list, list]:
    leaf = torch.arange(6.0, device=device).view(2, 3).requires_grad_()
    return [leaf], [leaf.clone()]


def replayed(fn: Callable, device: str, backend: str, dynamic: bool) -> None:
    with functorch_config.patch(view_replay_for_aliased_outputs=True):
        check(fn, lambda: inputs(device), backend, dynamic=dynamic)


def test_detached_and_view(device: str, backend: str) -> None:
    replayed(detached_and_view, device, backend, False)


def test_detached_and_view_dynamic(device: str, backend: str) -> None:
    replayed(detached_and_view, device, backend, True)


if __name__ == "__main__":
    test_detached_and_view("cpu", "aot_eager")
    test_detached_and_view_dynamic("cpu", "aot_eager")
