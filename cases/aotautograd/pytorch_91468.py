# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/91468"
# fix = "https://github.com/pytorch/pytorch/pull/146214"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "retain_grad on an intermediate that is returned keeps no gradient"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["hook"]
# demands = ["training"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "retained gradient is None"
# ///
"""retain_grad is a hook on a tensor of the autograd graph. In the compiled function the intermediate exists only
while tracing; what the caller gets is another tensor without the hook. Correct: both outputs receive a .grad;
later releases leave the graph at the call and may compile nothing.
Source: pytorch issue 91468.
"""

import torch


def chained(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 2
    y.retain_grad()
    return y * 3, y


def test_gradient_of_a_returned_intermediate(device: str, backend: str) -> None:
    x = torch.ones(2, device=device, requires_grad=True)
    z, y = torch.compile(chained, backend=backend)(x)
    z.sum().backward()
    actual = None if y.grad is None else y.grad.tolist()
    assert actual == [3.0, 3.0], f"retained gradient is {actual}"


if __name__ == "__main__":
    test_gradient_of_a_returned_intermediate("cpu", "aot_eager")
