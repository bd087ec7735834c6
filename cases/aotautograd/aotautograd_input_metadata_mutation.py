# /// script
# requires-python = ">=3.10,<3.11"
# dependencies = ["torch==2.0.1", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/89532"
# fix = "https://github.com/pytorch/pytorch/pull/100787"
# title = "transpose_ and t_ on graph inputs, alone and with a data update"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
#
# [tool.pt2bugs.demands]
# test_metadata = ["training", "mutation"]
# test_metadata_without_grad = ["mutation"]
# test_metadata_and_data = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_metadata"
# outcome = "raise"
# error = "RuntimeError"
# match = 'Function CompiledFunctionBackward returned an invalid gradient at index \d+ \- got \[\d+, \d+\] but'
# ///
"""transpose_ on a graph input changes sizes and strides of the caller's tensor, not its data. A functional
graph cannot express that; AOTAutograd classifies it as a metadata mutation and replays it on the
caller's tensor after the graph (as_strided_), alone or together with a data mutation of the same input.
Correct: shape, strides, values and gradients of every input and output as in eager. Source: PR 89532. On
torch 2.0 the gradient comes back in the old shape. Dynamo may break the graph at t_ of an input that is
written to as well.
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


def transpose_only(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a.transpose_(0, 1)
    return (a * 2,)


def transpose_and_write(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a.mul_(3)
    a.t_()
    b.t_()
    return a @ b, b * 2


def inputs(device: str, count: int, requires_grad: bool) -> tuple[list, list]:
    leaves = [torch.arange(6.0, device=device).add(i).requires_grad_(requires_grad) for i in range(count)]
    return leaves if requires_grad else [], [t.clone().view(2 + i, 3 - i) for i, t in enumerate(leaves)]


def test_metadata(device: str, backend: str) -> None:
    check(transpose_only, lambda: inputs(device, 1, True), backend)


def test_metadata_without_grad(device: str, backend: str) -> None:
    check(transpose_only, lambda: inputs(device, 1, False), backend)


def test_metadata_and_data(device: str, backend: str) -> None:
    check(transpose_and_write, lambda: inputs(device, 2, False), backend)


if __name__ == "__main__":
    test_metadata("cpu", "aot_eager")
    test_metadata_without_grad("cpu", "aot_eager")
    test_metadata_and_data("cpu", "aot_eager")
