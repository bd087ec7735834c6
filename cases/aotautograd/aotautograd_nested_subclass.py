# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/127431"
# fix = "https://github.com/pytorch/pytorch/pull/132096"
# title = "A wrapper subclass that holds another wrapper subclass"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "subclass"]
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "The keys of the mappings do not match:\\nMissing keys in the actual mapping: \\['x\\.(first|second)\\.first'[^\\]]+\\]\\nAdditional keys in the actual mapping: \\['x\\.(first|second)'[^\\]]*\\]\\n\\nThe failure occurred for item \\[1\\]"
# ///
"""AOTAutograd unwraps wrapper subclasses to the plain tensors in them before tracing and wraps the results
again. For a wrapper inside a wrapper this must recurse, and flattening and wrapping must agree on the
order: depth first. Correct: outputs and gradients have eager's nested structure and values, whichever
side the inner wrapper is on. Source: PR 127431 (recursion), PR 132096 (order).
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


def scaled(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (x * 2).sin() * weight


def compare(make: object, device: str, backend: str) -> None:
    results = []
    for fn in (scaled, torch.compile(scaled, backend=backend)):
        leaves = [torch.arange(i, i + 3.0, device=device) for i in (1, 5, 9)]
        x = make(*leaves).requires_grad_()
        out = fn(x, leaves[0])
        out.sum().backward()
        results.append((unwrap(out), unwrap(x.grad)))
    torch.testing.assert_close(results[1], results[0])


def test_dense_after_nested(device: str, backend: str) -> None:
    compare(lambda a, b, c: Pair(Pair(a, b), c), device, backend)


def test_dense_before_nested(device: str, backend: str) -> None:
    compare(lambda a, b, c: Pair(a, Pair(b, c)), device, backend)


if __name__ == "__main__":
    test_dense_after_nested("cpu", "aot_eager")
    test_dense_before_nested("cpu", "aot_eager")
