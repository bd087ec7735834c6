# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/127431"
# title = "A wrapper subclass that holds a wrapper subclass of another kind"
# component = "aotautograd"
# symptom = "wrong-result"
# guard = true
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "subclass"]
# requires-torch = ">=2.2"
# ///
"""Unwrapping goes through both layers, and each layer is wrapped again by its own class, with its own metadata:
here pairs of named tensors, where the name is metadata. Correct: the output has eager's structure, names and
values, and so has the gradient. Source: pytorch PR 127431.
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


class Named(torch.Tensor):
    """A wrapper subclass of one tensor with a name."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: torch.Tensor, name: str) -> torch.Tensor:
        options = {"strides": inner.stride(), "dtype": inner.dtype, "device": inner.device}
        self = torch.Tensor._make_wrapper_subclass(cls, inner.size(), **options)
        self.inner, self.name_ = inner, name
        return self

    def __repr__(self) -> str:
        return f"Named({self.name_})"

    def __tensor_flatten__(self) -> tuple[list[str], str]:
        return ["inner"], self.name_

    @staticmethod
    def __tensor_unflatten__(inner: dict, name: str, *outer: object) -> torch.Tensor:
        return Named(inner["inner"], name)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        name = next(x.name_ for x in args if isinstance(x, Named))
        inner = tree_map(lambda x: x.inner if isinstance(x, Named) else x, (args, kwargs or {}))
        out = func(*inner[0], **inner[1])
        out = Named(out, name) if isinstance(out, torch.Tensor) else out
        return return_and_correct_aliasing(func, args, kwargs or {}, out)


def unwrap(x: torch.Tensor, path: str = "x") -> dict[str, torch.Tensor]:
    if isinstance(x, Pair):
        return {**unwrap(x.first, path + ".first"), **unwrap(x.second, path + ".second")}
    if isinstance(x, Named):
        return unwrap(x.inner, f"{path}.{x.name_}")
    return {path: x.detach().clone()}


def wave(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * 2


def test_pair_of_named(device: str, backend: str) -> None:
    results = []
    for fn in (wave, torch.compile(wave, backend=backend)):
        left, right = torch.arange(3.0, device=device), torch.arange(3.0, 6.0, device=device)
        x = Pair(Named(left, "left"), Named(right, "right")).requires_grad_()
        out = fn(x)
        out.sum().backward()
        results.append((unwrap(out), unwrap(x.grad)))
    torch.testing.assert_close(results[1], results[0])


if __name__ == "__main__":
    test_pair_of_named("cpu", "aot_eager")
