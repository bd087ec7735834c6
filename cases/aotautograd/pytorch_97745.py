# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/97745"
# fix = "https://github.com/pytorch/pytorch/pull/98960"
# title = "Two losses whose graphs share a detached tensor cannot both be run backward"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "RuntimeError"
# match = 'Trying to backward through the graph a second time \(or directly access saved tensors after'
# ///
"""The first backward breaks the graph, as in the training of a generator and its critic. The second graph gets the detached
tensor with the history of the first one, which is freed. Correct: both backwards.
Source: pytorch issue 97745; a regression test of PyTorch's names it.
"""

import torch


def two_losses(x: torch.Tensor, y: torch.Tensor) -> None:
    generated = torch.matmul(x, torch.ones(2, 2))
    torch.abs(generated - 1).mean().backward()
    torch.matmul(y, generated.detach()).mean().backward()


def test_both_backwards(backend: str) -> None:
    grads = []
    for function in (two_losses, torch.compile(two_losses, backend=backend)):
        x, y = (torch.arange(4.0).reshape(2, 2).requires_grad_() for _ in range(2))
        function(x, y)
        grads.append((x.grad, y.grad))
    torch.testing.assert_close(grads[1], grads[0])


if __name__ == "__main__":
    test_both_backwards("aot_eager")
