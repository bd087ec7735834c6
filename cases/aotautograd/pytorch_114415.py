# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114415"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Aliasing of the tensors inside two subclass inputs goes unnoticed"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing", "subclass"]
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 2 / 3 \([\d.]+%\)\nGreatest absolute difference: 2\.0 '
# ///
"""AOTAutograd looks for inputs that share memory before it unwraps subclasses; two distinct wrappers around
one tensor pass as unrelated, and the functional graph reads the value from before the write. Correct:
eager's result, or a refusal (as aliased mutated subclass inputs get). Source: issue 114415.
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


def write_one(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return y + 1


def test_shared_inner_tensor(device: str, backend: str) -> None:
    results = []
    for fn in (write_one, torch.compile(write_one, backend=backend)):
        shared = torch.arange(3.0, device=device)
        x, y = Pair(shared, torch.ones(3, device=device)), Pair(shared, torch.zeros(3, device=device))
        try:
            out = fn(x, y)
        except RuntimeError as error:
            if "aliased inputs that are mutated" in str(error):
                return  # refused: as right as eager's answer
            raise
        results.append([shared, out.first, out.second, x.first, x.second])
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


if __name__ == "__main__":
    test_shared_inner_tensor("cpu", "aot_eager")
