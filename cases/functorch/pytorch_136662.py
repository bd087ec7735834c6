# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/136662"
# title = "torch.compile(torch.func.grad(compiled_f)) silently drops the grad transform"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager", "inductor"]
# labels = ["gradient"]
# ///
"""XXX
"""

import torch


def total(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum()


def accumulate_twice(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    y[:, 0] += x[:, 2].abs()
    y[:, 0] += x[:, 2].abs()
    return y.sum()


def test_grad_of_compiled_function(device: str, backend: str) -> None:
    x = torch.arange(5.0, device=device)
    inner = torch.compile(total, backend=backend)
    actual = torch.compile(torch.func.grad(inner), backend=backend)(x)
    torch.testing.assert_close(actual, torch.func.grad(total)(x))


def test_grad_of_repeated_slice_update(device: str, backend: str) -> None:
    x = torch.tensor([[1.0, 2.0, -3.0], [4.0, 5.0, 6.0]], device=device)
    actual = torch.compile(torch.func.grad(accumulate_twice), backend=backend)(x)
    torch.testing.assert_close(actual, torch.func.grad(accumulate_twice)(x))


if __name__ == "__main__":
    test_grad_of_compiled_function("cpu", "eager")
