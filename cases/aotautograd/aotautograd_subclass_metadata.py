# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/114405"
# fix = "https://github.com/pytorch/pytorch/pull/130779"
# title = "A wrapper subclass whose metadata changes between calls"
# component = "aotautograd"
# symptom = "wrong-result"
# # More graphs since torch 2.5: the other metadata is compiled again.
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "subclass"]
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'scales \(4, 5\), eager \(6, 7\)'
# ///
"""AOTAutograd unwraps a wrapper subclass, traces what its __torch_dispatch__ does with the tensor inside, and
wraps the result with the metadata it saw while tracing. Operators may depend on that metadata, so the graph is
right for it alone, and a guard has to protect it; there was none, and a tensor of another scale ran the graph of
the first. Correct: value, metadata and gradient as in eager, for one scale, for another one, and for the
first again. Source: pytorch issue 114405, PR 130779.
"""

import torch
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_map


class Scaled(torch.Tensor):
    """Stands for values * scale; the scale is metadata."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, values: torch.Tensor, scale: int) -> torch.Tensor:
        options = {"strides": values.stride(), "dtype": values.dtype, "device": values.device}
        self = torch.Tensor._make_wrapper_subclass(cls, values.size(), **options)
        self.values_, self.scale = values, scale
        return self

    def __repr__(self) -> str:  # AOTAutograd prints its metadata: must not need values
        return f"Scaled(scale={self.scale})"

    def __tensor_flatten__(self) -> tuple[list[str], int]:
        return ["values_"], self.scale

    @staticmethod
    def __tensor_unflatten__(inner: dict, scale: int, *outer: object) -> torch.Tensor:
        return Scaled(inner["values_"], scale)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        scale = next(x.scale for x in args if isinstance(x, Scaled))
        if func is torch.ops.aten.mul.Tensor and not isinstance(args[1], Scaled):
            out = Scaled(args[0].values_ * args[1], scale + 1)
        else:
            inner = tree_map(lambda x: x.values_ if isinstance(x, Scaled) else x, (args, kwargs or {}))
            out = Scaled(func(*inner[0], **inner[1]), scale)
        return return_and_correct_aliasing(func, args, kwargs or {}, out)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).sin()


def test_other_metadata_on_later_calls(device: str, backend: str) -> None:
    compiled = torch.compile(doubled, backend=backend)
    for scale in (3, 5, 3):
        results = []
        for fn in (doubled, compiled):
            x = Scaled(torch.arange(1, 4.0, device=device), scale).requires_grad_()
            out = fn(x)
            out.sum().backward()
            results.append((out.scale, out.values_.detach(), x.grad.scale, x.grad.values_))
        assert results[1][::2] == results[0][::2], f"scales {results[1][::2]}, eager {results[0][::2]}"
        torch.testing.assert_close(results[1][1::2], results[0][1::2])


if __name__ == "__main__":
    test_other_metadata_on_later_calls("cpu", "aot_eager")
