# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.2.2", "numpy<2", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/127431"
# fix = "https://github.com/pytorch/pytorch/pull/118191"
# title = "A wrapper subclass made by a dispatch mode inside the traced function"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "the pair holds a FakeTensor"
# ///
"""A TorchDispatchMode that is active in the function turns what an operator returns into a wrapper subclass, so
subclasses appear in the middle of the graph though every input is a plain tensor. AOTAutograd traces inside of
the mode and has to wrap the output by what came out, not by what went in; torch 2.2 returned the pair of fake
tensors that it had traced with. Correct: a pair with eager's values. Called through aot_function, since Dynamo
does not compile under a user's mode.
Source: pytorch PR 127431.
"""

import torch
from functorch.compile import aot_function, nop
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
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


class PairingMode(TorchDispatchMode):
    """Every result is paired with ten times itself."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out if isinstance(out, Pair) or func is torch.ops.aten.detach.default else Pair(out, out * 10)


def wave(x: torch.Tensor) -> torch.Tensor:
    with PairingMode():
        y = x + 1
    return y.sin()


def test_pair_made_inside(device: str) -> None:
    results = []
    for fn in (wave, aot_function(wave, nop)):
        out = fn(torch.arange(4.0, device=device))
        assert type(out) is Pair, f"the output is a {type(out).__name__}"
        assert type(out.first) is torch.Tensor, f"the pair holds a {type(out.first).__name__}"
        results.append((out.first, out.second))
    torch.testing.assert_close(results[1], results[0])


if __name__ == "__main__":
    test_pair_made_inside("cpu")
