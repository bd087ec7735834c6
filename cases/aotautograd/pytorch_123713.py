# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/123713"
# fix = "https://github.com/pytorch/pytorch/pull/110053"
# title = "requires_grad_() on an intermediate is ignored"
# component = "aotautograd"
# symptom = "wrong-result"
# # More graphs since torch 2.2: the intermediate would leave the graph, and Dynamo makes a graph break there.
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "requires_grad of the result is False"
# ///
"""The intermediate is made under no_grad and is then asked to require grad, which makes it a leaf in the middle of
the graph. Dynamo traced the call and AOTAutograd dropped it. Correct: a result that requires grad. Source: pytorch
issue 123713.
"""

import torch


def detached_then_scaled(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
    y.requires_grad_()
    return y * 3


def test_result_requires_grad(device: str, backend: str) -> None:
    actual = torch.compile(detached_then_scaled, backend=backend)(torch.ones(2, device=device)).requires_grad
    assert actual is True, f"requires_grad of the result is {actual}"


if __name__ == "__main__":
    test_result_requires_grad("cpu", "aot_eager")
