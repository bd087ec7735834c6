# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/100794"
# title = "The gradient through nearest interpolation to one pixel is wrong"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["gradient"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the gradient of a sum over a patch of ones is \[0\.0\]'
# ///
"""The convolution's output has one pixel, so its interpolation to one pixel is a copy; its backward adds to a buffer that is
not zero. Correct: the weight's gradient is the patch.
Source: pytorch issue 100794.
"""

import torch


def test_gradient_of_the_weight(device: str, backend: str) -> None:
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(1, 1, 4).to(device)

    def one_pixel(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(conv(x), size=[1, 1], mode="nearest")

    torch.compile(one_pixel, backend=backend)(torch.ones(1, 1, 4, 4, device=device)).sum().backward()
    values = sorted(set(conv.weight.grad.flatten().tolist()))
    assert values == [1.0], f"the gradient of a sum over a patch of ones is {values}"


if __name__ == "__main__":
    test_gradient_of_the_weight("cpu", "inductor")
