# /// script
# requires-python = ">=3.10,<3.11"
# dependencies = ["torch==2.0.1", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/100348"
# fix = "https://github.com/pytorch/pytorch/pull/100430"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "An output and its detached alias come back as one object"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager", "inductor"]
# demands = ["training", "aliasing"]
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# backend = "inductor"
# outcome = "wrong"
# error = "AssertionError"
# match = "the loss and its detached alias are one object"
# ///
"""Inductor lowers detach to nothing, so the graph returned one buffer for the loss and its detached copy,
and marking that one object non-differentiable takes the gradient from the loss. Correct: two tensors, of
which the first requires grad and the second does not. Of the releases measured only torch 2.0 shows it.
Source: pytorch issue 100348, PR 100430.
"""

import torch


def loss_and_log(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    loss = x.mean()
    return loss, loss.detach()


def test_detached_output(device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device, requires_grad=True)
    expected, expected_log = loss_and_log(x)
    loss, log = torch.compile(loss_and_log, backend=backend)(x)
    assert loss is not log, "the loss and its detached alias are one object"
    assert (loss.requires_grad, log.requires_grad) == (True, False), "wrong requires_grad"
    torch.testing.assert_close((loss, log), (expected, expected_log))
    torch.testing.assert_close(torch.autograd.grad(loss, x), torch.autograd.grad(expected, x))


if __name__ == "__main__":
    test_detached_output("cpu", "inductor")
