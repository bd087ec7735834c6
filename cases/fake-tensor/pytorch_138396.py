# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138396"
# upstream = "open"
# upstream-seen = 2026-11-26
# title = "geqrf and batch norm with out= have no meta kernel"
# component = "fake-tensor"
# symptom = "internal-error"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# check = "test_geqrf"
# outcome = "raise"
# error = "NotImplementedError"
# match = '(Could not run .aten::geqrf\.a. with arguments from the .Meta.|aten::geqrf\.a: attempted to run this operator with Meta tensors)'
#
# [[tool.pt2bugs.bug]]
# check = "test_batch_norm"
# outcome = "raise"
# error = "NotImplementedError"
# match = '(Could not run .aten::_native_batch_norm_legit\.out. with arguments from the .Meta.|aten::_native_batch_norm_legit\.out: attempted to run)'
# ///
"""Shapes are propagated by meta kernels. These two operators with out= have a kernel for every real device and none for meta, so that
what uses them cannot be traced. Correct: the shapes of the real kernel, which resizes its empty outputs.
Source: pytorch issue 138396, first group of its list.
"""

from collections.abc import Callable

import torch


def shapes(function: Callable[[str], tuple[torch.Tensor, ...]], device: str) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in function(device)]


def factorized(device: str) -> tuple[torch.Tensor, ...]:
    out = (torch.empty(0, device=device), torch.empty(0, device=device))
    return torch.geqrf(torch.ones(2, 4, 3, device=device), out=out)


def normalized(device: str) -> tuple[torch.Tensor, ...]:
    weight, bias, mean, variance = (torch.ones(3, device=device) for _ in range(4))
    out, saved_mean, saved_deviation = (torch.empty(0, device=device) for _ in range(3))
    return torch.ops.aten._native_batch_norm_legit.out(
        torch.ones(2, 3, 4, device=device), weight, bias, mean, variance, True, 0.1, 1e-5,
        out=out, save_mean=saved_mean, save_invstd=saved_deviation,
    )  # fmt: skip


def test_geqrf(device: str) -> None:
    assert shapes(factorized, "meta") == shapes(factorized, device), "geqrf has other shapes on meta"


def test_batch_norm(device: str) -> None:
    assert shapes(normalized, "meta") == shapes(normalized, device), "batch norm has other shapes on meta"


if __name__ == "__main__":
    test_geqrf("cpu")
    test_batch_norm("cpu")
