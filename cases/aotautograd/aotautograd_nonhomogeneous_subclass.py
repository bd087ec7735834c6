# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/104483"
# title = "A wrapper subclass whose inner tensors differ in dtype and shape"
# component = "aotautograd"
# symptom = "wrong-result"
# guard = true
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "subclass"]
# requires-torch = ">=2.2"
# ///
"""A quantized weight is a wrapper subclass of codes (int8) and one scale a row (float32, another shape), and says
of itself that it is float32. AOTAutograd has to give each inner tensor an input of its own, with its own
dtype and shape, and must not take the wrapper's for it. Correct: a product with a dense input equals eager's
with its gradient, and a rescaled weight has eager's codes and scales. Source: pytorch PR 104483.
"""

import torch


class Quantized(torch.Tensor):
    """codes * scale, a scale for each row."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        options = {"strides": codes.stride(), "dtype": scale.dtype, "device": codes.device}
        self = torch.Tensor._make_wrapper_subclass(cls, codes.size(), **options)
        self.codes, self.scale = codes, scale
        return self

    def __repr__(self) -> str:  # AOTAutograd prints its metadata: must not need values
        return "Quantized()"

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["codes", "scale"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict, meta: None, *outer: object) -> torch.Tensor:
        return Quantized(inner["codes"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.mul.Tensor and isinstance(args[0], Quantized):
            return Quantized(args[0].codes, args[0].scale * args[1])
        if func is torch.ops.aten.detach.default:
            return Quantized(args[0].codes, args[0].scale)
        args = [x.codes * x.scale if isinstance(x, Quantized) else x for x in args]
        return func(*args, **(kwargs or {}))


def project(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rescaled = weight * 2
    return x.matmul(rescaled), rescaled


def test_quantized_weight(device: str, backend: str) -> None:
    results = []
    for fn in (project, torch.compile(project, backend=backend)):
        codes = torch.arange(-6, 6, dtype=torch.int8, device=device).view(3, 4)
        weight = Quantized(codes, torch.tensor([[0.5], [1.0], [2.0]], device=device))
        x = torch.arange(6.0, device=device).view(2, 3).requires_grad_()
        out, rescaled = fn(x, weight)
        assert type(rescaled) is Quantized, type(rescaled)
        results.append((out, rescaled.codes, rescaled.scale, *torch.autograd.grad(out.square().sum(), x)))
    torch.testing.assert_close(results[1], results[0])


if __name__ == "__main__":
    test_quantized_weight("cpu", "aot_eager")
