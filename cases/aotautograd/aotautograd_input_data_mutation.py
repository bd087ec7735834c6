# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/88817"
# title = "In-place updates of several graph inputs, and gradients through them"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# guard = true
#
# [tool.pt2bugs.demands]
# test_all_require_grad = ["training", "mutation"]
# test_one_requires_grad = ["training", "mutation"]
# test_none_requires_grad = ["mutation"]
# ///
"""AOTAutograd functionalizes a.mul_(2) on a graph input: the graph returns the updated value, and an
epilogue copies it into the caller's tensor (or the copy_ stays in the graph when autograd need not see
it). The caller's tensor must afterwards hold the new value, keep its identity, and carry the gradient
history of the update; an input that is only read must stay as it was, and a later write to an output
must not reach an input. Correct: as in eager. Tried: two updated inputs of three, with and without
gradients, and inputs of which only one requires grad; it fails nowhere. Source: PR 88817.
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


def update_two(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a.mul_(2)
    c.mul_(3).add_(b)
    return a + c, b * 3


def inputs(device: str, requires_grad: tuple[bool, bool, bool]) -> tuple[list, list]:
    leaves = [torch.arange(1, 5.0, device=device, requires_grad=r) for r in requires_grad]
    return [t for t in leaves if t.requires_grad], [t.clone() for t in leaves]


def test_all_require_grad(device: str, backend: str) -> None:
    check(update_two, lambda: inputs(device, (True, True, True)), backend)


def test_one_requires_grad(device: str, backend: str) -> None:
    check(update_two, lambda: inputs(device, (False, True, False)), backend)


def test_none_requires_grad(device: str, backend: str) -> None:
    check(update_two, lambda: inputs(device, (False, False, False)), backend)


if __name__ == "__main__":
    test_all_require_grad("cpu", "aot_eager")
    test_one_requires_grad("cpu", "aot_eager")
    test_none_requires_grad("cpu", "aot_eager")
