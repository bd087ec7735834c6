# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145081"
# fix = "https://github.com/pytorch/pytorch/pull/145082"
# title = "Min-cut partitioner does not end on a long chain of ops with several users"
# component = "aotautograd"
# symptom = "hang"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager_decomp_partition"]
# demands = ["training"]
# timeout = 55
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "timeout"
# frame = 'torch/_functorch/partitioners\.py'
# ///
"""The min-cut partitioner walks from every candidate for fusion along its fusible users with a heap, and
put a node on the heap once for each path that leads to it. In a chain where every op has several later
users the number of paths grows exponentially with its length: 24 links are enough for no end. Correct:
a node is visited once, the joint graph is partitioned in a moment; values and gradients equal eager's.
Source: issue 145081, PR 145082.
"""

import torch

LINKS = 24


def chain(x: torch.Tensor) -> torch.Tensor:
    values = [x + (x + i) for i in range(LINKS)]
    for i in range(LINKS - 3):
        values[i] = values[i].sin().mul(values[i])
        for offset in (1, 2, 3):
            values[i + offset] = values[i + offset] - values[i]
    return torch.stack(values).sum(0)


def test_chain_is_partitioned(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 4, device=device, dtype=torch.float64).requires_grad_()
    expected = chain(x)
    (expected_grad,) = torch.autograd.grad(expected.sum(), x)
    actual = torch.compile(chain, backend=backend)(x)
    torch.testing.assert_close(actual, expected)
    (grad,) = torch.autograd.grad(actual.sum(), x)
    torch.testing.assert_close(grad, expected_grad)


if __name__ == "__main__":
    test_chain_is_partitioned("cpu", "aot_eager_decomp_partition")
