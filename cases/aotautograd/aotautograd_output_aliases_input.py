# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/89532"
# title = "Outputs that are views of an input, and the input itself"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# guard = true
#
# [tool.pt2bugs.demands]
# test_views = ["training", "aliasing"]
# test_views_without_grad = ["aliasing"]
# test_views_of_updated_input = ["training", "mutation", "aliasing"]
# ///
"""An output that is a view of a graph input must not be a new tensor made by the graph: AOTAutograd drops
it from the compiled autograd.Function and regenerates it from the caller's input by replaying the view,
so that a later write to the output changes the input and the other views, and autograd sees it. An input
that is returned is the same object. Correct: identities, storages, _base, flags, values and gradients as
in eager, before and after writes to the outputs. Source: PR 89532. Tried: view, select, t, a strided
slice, the input itself; it fails nowhere.
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


def views(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return a.view(-1), a, a[1], a * 2


def write_then_view(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a.mul_(3)
    return a.t(), a[:, ::2]


def inputs(device: str, requires_grad: bool) -> tuple[list, list]:
    leaf = torch.arange(6.0, device=device).view(2, 3).requires_grad_(requires_grad)
    return [leaf] if requires_grad else [], [leaf.clone()]


def test_views(device: str, backend: str) -> None:
    check(views, lambda: inputs(device, True), backend)


def test_views_without_grad(device: str, backend: str) -> None:
    check(views, lambda: inputs(device, False), backend)


def test_views_of_updated_input(device: str, backend: str) -> None:
    check(write_then_view, lambda: inputs(device, True), backend)


if __name__ == "__main__":
    test_views("cpu", "aot_eager")
    test_views_without_grad("cpu", "aot_eager")
    test_views_of_updated_input("cpu", "aot_eager")
