# /// script
# requires-python = ">=3.10,<3.11"
# dependencies = ["torch==2.0.1", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/85301"
# fix = "https://github.com/pytorch/pytorch/pull/104921"
# title = "The same tensor passed for two graph inputs"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = { test_gradient = ["training", "aliasing"], test_write = ["training", "mutation", "aliasing"] }
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_write"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 12\.0 '
# ///
"""When one tensor is passed twice, AOTAutograd must see one input, not two: as two it would count the
gradient twice in its autograd.Function, and a write to the first would not be seen by reads of the
second. The deduplicated graph is right only for duplicated arguments, so a guard has to protect it.
Correct: values, mutations and gradients as in eager for duplicates, for different tensors afterwards,
and for duplicates again. On torch 2.0 a write to one of the duplicates gives other values. Source:
PR 85301.
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


def read(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (a * 2 + b * b,)


def write(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a.mul_(2)
    b.mul_(3)
    return (a + b,)


def inputs(device: str, same: bool) -> tuple[list, list]:
    leaves = [torch.arange(1, 5.0, device=device, requires_grad=True) for _ in range(1 if same else 2)]
    copies = [t.clone() for t in leaves]
    return leaves, copies * 2 if same else copies


def three_calls(fn: Callable, device: str, backend: str) -> None:
    compiled = torch.compile(fn, backend=backend)
    for same in (True, False, True):
        facts, values = observe(fn, lambda same=same: inputs(device, same))
        compiled_facts, compiled_values = observe(compiled, lambda same=same: inputs(device, same))
        assert compiled_facts == facts, f"compiled {compiled_facts}, eager {facts}"
        torch.testing.assert_close(compiled_values, values)


def test_gradient(device: str, backend: str) -> None:
    three_calls(read, device, backend)


def test_write(device: str, backend: str) -> None:
    three_calls(write, device, backend)


if __name__ == "__main__":
    test_write("cpu", "aot_eager")
    test_gradient("cpu", "aot_eager")
