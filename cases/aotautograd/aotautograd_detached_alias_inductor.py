# /// script
# requires-python = ">=3.10,<3.11"
# dependencies = ["torch==2.0.1", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/147638"
# fix = "https://github.com/pytorch/pytorch/pull/100430"
# title = "A detached alias of an intermediate beside the intermediate, under Inductor"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# same-fix = "pytorch_100348"
# backends = ["inductor"]
#
# [tool.pt2bugs.demands]
# test_detached_and_base = ["training", "aliasing"]
# test_detached_and_base_dynamic = ["training", "aliasing", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'compiled \[\(True, False, torch\.float32, \(2, 3\), \(3, 1\)\), \(False, True, .*?\), \(False, True, '
# ///
"""Inductor lowers detach to nothing, so the buffer of the detached output is the buffer of the one it aliases;
torch 2.0 returned one object for both, without a gradient (pytorch_100348). Correct: two tensor objects that
share memory, of which the detached one needs no gradient, with the values, flags and gradients of eager,
before and after writes to both, with static and dynamic shapes. Source: pytorch PRs 100430 and 147638.
"""

from collections.abc import Callable

import torch


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


def detached_and_base(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    base = a + 1
    return base.detach(), base


def inputs(device: str) -> tuple[list, list]:
    leaf = torch.arange(6.0, device=device).view(2, 3).requires_grad_()
    return [leaf], [leaf.clone()]


def test_detached_and_base(device: str, backend: str) -> None:
    check(detached_and_base, lambda: inputs(device), backend)


def test_detached_and_base_dynamic(device: str, backend: str) -> None:
    check(detached_and_base, lambda: inputs(device), backend, dynamic=True)


if __name__ == "__main__":
    test_detached_and_base("cpu", "inductor")
    test_detached_and_base_dynamic("cpu", "inductor")
