# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114975"
# fix = "https://github.com/pytorch/pytorch/pull/186515"
# title = "transpose_ of a wrapper subclass input"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.14"
# outcome = "raise"
# error = "RuntimeError"
# match = 'Metadata mutations are currently not allowed on tensor subclasses'
# ///
"""AOTAutograd replays transpose_ on the caller's tensor after the graph, but refused to when that tensor is
a wrapper subclass. Correct: the wrapper and both tensors inside it are transposed, as in eager. Called
through aot_function, since Dynamo breaks the graph at transpose_ of such an input. Source: issue 114975,
PR 186515.
"""

import torch
from functorch.compile import aot_function, nop
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


def transpose(x: torch.Tensor) -> torch.Tensor:
    x.transpose_(0, 1)
    return x * 2


def test_metadata(device: str) -> None:
    results = []
    for fn in (transpose, aot_function(transpose, nop)):
        x = Pair(torch.arange(6.0, device=device).view(2, 3), torch.ones(2, 3, device=device))
        out = fn(x)
        results.append([(t.shape, t.stride(), t.first, t.second) for t in (x, out)])
    for actual, expected in zip(results[1], results[0]):
        assert actual[:2] == expected[:2], f"shape and stride {actual[:2]}, eager {expected[:2]}"
        torch.testing.assert_close(actual[2:], expected[2:])


if __name__ == "__main__":
    test_metadata("cpu")
