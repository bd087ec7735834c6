# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150656"
# title = "Sparse gradient of an embedding bag whose output is viewed, with dynamic shapes"
# component = "aotautograd"
# symptom = "backend-failure"
# found-beside = "https://github.com/pytorch/pytorch/issues/150656"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = { test_embedding_bag_dynamic = ["training", "dynamic-shapes"], test_embedding_bag_static = ["training"] }
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_embedding_bag_dynamic"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'Cannot call sizes\(\) on tensor with symbolic sizes/strides\s+Set '
# ///
"""The gradient of an embedding bag with sparse=True is a sparse COO tensor. Tracing the joint graph with
symbolic sizes calls a C++ kernel of the sparse backward that asks for concrete ones, and fails at compile
time; with static shapes it works. Correct: the gradient is sparse, with eager's indices and values, also
under dynamic=True. Source: found beside pytorch issue 150656 (sparse gradients under torch.compile).
"""

import torch
import torch.nn.functional as F


def bag(index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.embedding_bag(index.view(1, -1), weight, sparse=True, mode="sum").view(-1)


def compare(device: str, backend: str, dynamic: bool) -> None:
    results = []
    for fn in (bag, torch.compile(bag, backend=backend, dynamic=dynamic)):
        weight = torch.arange(20.0, device=device).view(5, 4).requires_grad_()
        out = fn(torch.tensor([1, 3, 3], device=device), weight)
        out.square().sum().backward()
        assert weight.grad.is_sparse, "the gradient is dense"
        results.append((out, weight.grad.coalesce().indices(), weight.grad.to_dense()))
    torch.testing.assert_close(results[1], results[0])


def test_embedding_bag_dynamic(device: str, backend: str) -> None:
    compare(device, backend, True)


def test_embedding_bag_static(device: str, backend: str) -> None:
    compare(device, backend, False)


if __name__ == "__main__":
    test_embedding_bag_dynamic("cpu", "aot_eager")
    test_embedding_bag_static("cpu", "aot_eager")
