# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150656"
# fix = "https://github.com/pytorch/pytorch/pull/150659"
# title = "Sparse gradient of an embedding whose output is viewed"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager", "inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# check = "test_embedding"
# backend = "inductor"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'LoweringException: AssertionError'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.8"
# check = "test_embedding"
# backend = "inductor"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'LoweringException: AssertionError'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_embedding_bag_dynamic"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'Cannot call sizes\(\) on tensor with symbolic sizes'
# ///
"""The gradient of an embedding with sparse=True is a sparse COO tensor, and the view of the output is
undone before it in backward. Inductor's lowering of embedding asserted that sparse is False instead of
falling back to the operator; on 2.1 dynamic shapes also failed while tracing the sparse backward.
Correct: the gradient is sparse, with eager's indices and values, static and dynamic shapes. Source:
issue 150656, PR 150659.
"""

import torch
import torch.nn.functional as F


def embed(index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.embedding(index, weight, sparse=True).view(-1)


def bag(index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.embedding_bag(index.view(1, -1), weight, sparse=True, mode="sum").view(-1)


def compare(fn: object, device: str, backend: str, dynamic: bool) -> None:
    results = []
    for f in (fn, torch.compile(fn, backend=backend, dynamic=dynamic)):
        weight = torch.arange(20.0, device=device).view(5, 4).requires_grad_()
        out = f(torch.tensor([1, 3, 3], device=device), weight)
        out.square().sum().backward()
        assert weight.grad.is_sparse, "the gradient is dense"
        results.append((out, weight.grad.coalesce().indices(), weight.grad.to_dense()))
    torch.testing.assert_close(results[1], results[0])


def test_embedding(device: str, backend: str) -> None:
    compare(embed, device, backend, False)


def test_embedding_bag_dynamic(device: str, backend: str) -> None:
    compare(bag, device, backend, True)


if __name__ == "__main__":
    test_embedding("cpu", "inductor")
