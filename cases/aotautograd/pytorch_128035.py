# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/128035"
# title = "The gradient is lost where an input is detached and then changed"
# component = "aotautograd"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["gradient"]
# demands = ["training", "mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the gradient of \(2 \* x\) doubled in place is \[0\.0, 0\.0\]'
# ///
"""The detached alias is made from the input after its change, and the change itself is taken to be one of the alias, which has
no gradient. Correct: the chain of both products.
Source: pytorch issue 128035.
"""

import torch


def detached_and_doubled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    alias = x.detach()
    x.mul_(2)
    return x, alias


def test_gradient_of_the_input(device: str, backend: str) -> None:
    leaf = torch.ones(2, device=device, requires_grad=True)
    out, _ = torch.compile(detached_and_doubled, backend=backend)(leaf * 2)
    out.sum().backward()
    assert leaf.grad.tolist() == [4.0, 4.0], f"the gradient of (2 * x) doubled in place is {leaf.grad.tolist()}"


if __name__ == "__main__":
    test_gradient_of_the_input("cpu", "aot_eager")
