# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150656"
# fix = "https://github.com/pytorch/pytorch/pull/150659"
# title = "Training an embedding with sparse gradients: the lowering asserts that they are dense"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["inductor"]
# demands = ["training"]
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'LoweringException: AssertionError: \s*target: aten\.embedding\.default'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.8"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'LoweringException: AssertionError: \s*target: aten\.embedding\.default'
# ///
"""The gradient of an embedding with sparse=True is a sparse COO tensor, and the view of the output is undone
before it in backward. The forward is the same lookup as without, but Inductor's lowering of embedding asserted
that sparse is False instead of falling back to the operator. Correct: the gradient is sparse, with eager's
indices and values. Source: pytorch issue 150656, PR 150659.
"""

import torch
import torch.nn.functional as F


def embed(index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.embedding(index, weight, sparse=True).view(-1)


def test_embedding(device: str, backend: str) -> None:
    results = []
    for fn in (embed, torch.compile(embed, backend=backend)):
        weight = torch.arange(20.0, device=device).view(5, 4).requires_grad_()
        out = fn(torch.tensor([1, 3, 3], device=device), weight)
        out.square().sum().backward()
        assert weight.grad.is_sparse, "the gradient is dense"
        results.append((out, weight.grad.coalesce().indices(), weight.grad.to_dense()))
    torch.testing.assert_close(results[1], results[0])


if __name__ == "__main__":
    test_embedding("cpu", "inductor")
