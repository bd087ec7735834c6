# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/192985"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Compiled torch.func.jvp ignores the jvp of an autograd.Function"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["autograd-function"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = "tangent \\[1\\.0, 1\\.0\\] is not from the function's jvp"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_subclasses/meta_utils\.py:\d+ meta_tensor'
# ///
"""Dynamo traces the forward of an autograd.Function and a backward from it, but does not look at its jvp.
Under torch.func.jvp the traced forward is differentiated op by op, so a rule of the user's that is not the
formal derivative is silently replaced. Correct: the tangent is what the function's own jvp returns.
Source: pytorch issue 192985.
"""

import torch


class SineWithOwnTangent(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        pass

    @staticmethod
    def jvp(ctx, tangent: torch.Tensor) -> torch.Tensor:
        return tangent * 100


def tangent(x: torch.Tensor) -> torch.Tensor:
    return torch.func.jvp(SineWithOwnTangent.apply, (x,), (torch.ones_like(x),))[1]


def test_own_tangent_rule_is_used(device: str, backend: str) -> None:
    actual = torch.compile(tangent, backend=backend)(torch.zeros(2, device=device)).tolist()
    assert actual == [100.0, 100.0], f"tangent {actual} is not from the function's jvp"


if __name__ == "__main__":
    test_own_tangent_rule_is_used("cpu", "eager")
