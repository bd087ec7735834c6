# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/104483"
# title = "Updating a wrapper subclass and a dense input in one graph"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = { test_inference = ["mutation", "subclass"], test_training = ["training", "mutation", "subclass"] }
# guard = true
# requires-torch = ">=2.2"
# ///
"""A graph input that is a wrapper subclass is updated in place beside a plain tensor: the update must reach
both tensors inside the wrapper, and the dense input, at inference and in training. Correct: values,
structure and gradients as in eager. Source: PR 104483, PR 120136. Tried: inference and training; it
fails nowhere.
"""

import torch
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_map


class Pair(torch.Tensor):
    """A wrapper subclass of two tensors; every operator runs on both."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        options = {"strides": first.stride(), "dtype": first.dtype, "device": first.device}
        self = torch.Tensor._make_wrapper_subclass(cls, first.size(), **options)
        self.first, self.second = first, second
        return self

    def __repr__(self) -> str:  # AOTAutograd prints its metadata: must not need values
        return "Pair()"

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["first", "second"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict, meta: None, *outer: object) -> torch.Tensor:
        return Pair(inner["first"], inner["second"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def run(name: str) -> object:
            inner = tree_map(lambda x: getattr(x, name) if isinstance(x, Pair) else x, (args, kwargs or {}))
            return func(*inner[0], **inner[1])

        first, second = run("first"), run("second")
        out = Pair(first, second) if isinstance(first, torch.Tensor) else first
        return return_and_correct_aliasing(func, args, kwargs or {}, out)


def unwrap(x: torch.Tensor, path: str = "x") -> dict[str, torch.Tensor]:
    if isinstance(x, Pair):
        return {**unwrap(x.first, path + ".first"), **unwrap(x.second, path + ".second")}
    return {path: x.detach().clone()}


def update(x: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    dense.add_(1)
    return x * dense


def compare(requires_grad: bool, device: str, backend: str) -> None:
    results = []
    for fn in (update, torch.compile(update, backend=backend)):
        leaf = torch.arange(1, 4.0, device=device, requires_grad=requires_grad)
        x = Pair(torch.ones(3, device=device), torch.arange(3.0, device=device)) * 1
        dense = leaf.clone()
        out = fn(x, dense)
        if requires_grad:
            out.sum().backward()
        results.append([unwrap(out), unwrap(x), unwrap(dense), unwrap(leaf.grad) if requires_grad else None])
    torch.testing.assert_close(results[1], results[0])


def test_inference(device: str, backend: str) -> None:
    compare(False, device, backend)


def test_training(device: str, backend: str) -> None:
    compare(True, device, backend)


if __name__ == "__main__":
    test_inference("cpu", "aot_eager")
    test_training("cpu", "aot_eager")
