# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/104483"
# title = "A gradient whose wrapper is not the one that the backward was traced for"
# component = "aotautograd"
# symptom = "wrong-result"
# guard = true
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "subclass"]
# requires-torch = ">=2.2"
# ///
"""The backward graph is traced during the forward call, so AOTAutograd has to guess the kind of tensor that the
gradient of each output will be. A plain output that is added to a pair outside the graph gets a pair as its
gradient, where a plain tensor was guessed. Correct: eager's gradients, or a refusal that says that the
metadata of a subclass was guessed wrongly, never other values. Source: pytorch PR 104483.
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


def unwrap(x: torch.Tensor) -> list[torch.Tensor]:
    return [x.first, x.second] if isinstance(x, Pair) else [x, x]


def wave(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * 2


def gradient(fn: object, device: str) -> list[torch.Tensor]:
    x = torch.arange(3.0, device=device, requires_grad=True)
    other = Pair(torch.ones(3, device=device), torch.full((3,), 10.0, device=device))
    (fn(x) * other).sum().backward()
    return unwrap(x.grad)


def test_pair_as_gradient_of_a_plain_output(device: str, backend: str) -> None:
    expected = gradient(wave, device)
    try:
        actual = gradient(torch.compile(wave, backend=backend), device)
    except (AssertionError, RuntimeError) as error:  # an assertion up to torch 2.5
        if "metadata" not in str(error):
            raise
    else:
        torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_pair_as_gradient_of_a_plain_output("cpu", "aot_eager")
