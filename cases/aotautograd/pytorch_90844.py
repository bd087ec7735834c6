# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/90844"
# fix = "https://github.com/pytorch/pytorch/pull/95980"
# title = "In-place update of a leaf parameter under no_grad inside the compiled function"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# guard = true
# ///
"""A graph input that requires grad and is a leaf may be updated under no_grad, or through a detached alias.
The epilogue that copies the updated value back ran with grad enabled, where autograd refuses in-place
writes to a leaf. Correct: the leaf changes, stays a leaf without grad_fn, and its gradient is as in
eager. Source: issue 90844, PR 95980. Tried: no_grad and detach, 2.1 to 2.15: it fails nowhere (2.0.1 has
the fix).
"""

import torch


def step(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        x.add_(1)
    return x * x


def step_through_detach(x: torch.Tensor) -> torch.Tensor:
    x.detach().add_(1)
    return x * x


def compare(fn: object, device: str, backend: str) -> None:
    x, reference = (torch.arange(4.0, device=device, requires_grad=True) for _ in range(2))
    expected = fn(reference)
    actual = torch.compile(fn, backend=backend)(x)
    assert x.is_leaf and x.requires_grad and x.grad_fn is None
    torch.testing.assert_close((actual, x), (expected, reference))
    actual.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(x.grad, reference.grad)


def test_no_grad(device: str, backend: str) -> None:
    compare(step, device, backend)


def test_detach(device: str, backend: str) -> None:
    compare(step_through_detach, device, backend)


if __name__ == "__main__":
    test_no_grad("cpu", "aot_eager")
