# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/89532"
# title = "Outputs that are views of an intermediate, or of one another"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# guard = true
#
# [tool.pt2bugs.demands]
# test_two_views = ["training", "aliasing"]
# test_view_and_base = ["training", "aliasing"]
# test_without_grad = ["aliasing"]
# ///
"""Two outputs that view the same intermediate share memory, and a write to one must change the other and
its gradient history. An autograd.Function cannot return such views (it refuses in-place writes to them),
so AOTAutograd returns the intermediate as a hidden extra output and regenerates the views from it
outside; if the intermediate is itself an output, it serves as the base. Correct: aliasing, flags, values
and gradients as in eager, before and after writes to the outputs. Source: PR 89532. Tried: two views;
view, base and a detached part; one output twice; it fails nowhere.
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


def two_views(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    h = a * 3
    return h.view(-1), h.t()


def view_and_base(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    h = a * 3
    return h.view(-1), h, h[0].detach(), h


def inputs(device: str, requires_grad: bool) -> tuple[list, list]:
    leaf = torch.arange(6.0, device=device).view(2, 3).requires_grad_(requires_grad)
    return [leaf] if requires_grad else [], [leaf.clone()]


def test_two_views(device: str, backend: str) -> None:
    check(two_views, lambda: inputs(device, True), backend)


def test_view_and_base(device: str, backend: str) -> None:
    check(view_and_base, lambda: inputs(device, True), backend)


def test_without_grad(device: str, backend: str) -> None:
    check(view_and_base, lambda: inputs(device, False), backend)


if __name__ == "__main__":
    test_two_views("cpu", "aot_eager")
    test_view_and_base("cpu", "aot_eager")
    test_without_grad("cpu", "aot_eager")
