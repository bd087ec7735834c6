# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.2.2", "numpy<2", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111554"
# title = "set_ of a graph input to another input's storage"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_adopt_and_write"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'does not yet handle non-differentiable view input mutations'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_adopt"
# outcome = "wrong"
# error = "AssertionError"
# match = "the input does not share its new storage"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# check = "test_adopt"
# outcome = "raise"
# error = "AssertionError"
# match = '^\s*($|You can suppress|Set TORCH)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# check = "test_adopt_and_write"
# outcome = "raise"
# error = "AssertionError"
# match = '^\s*($|You can suppress|Set TORCH)'
# ///
"""set_ gives the caller's tensor another storage, which neither copy_ nor as_strided_ can replay;
AOTAutograd tracks it as a mutation of its own kind. Correct: afterwards the input has the size, strides
and storage of its source, so that a later write to one is seen in the other. Source: PR 111554.
"""

import torch


def adopt(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.set_(b)
    return a * b


def adopt_and_write(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.set_(b)
    a.mul_(3)
    return a + 1


def compare(fn: object, device: str, backend: str) -> None:
    def run(f: object) -> tuple[list[torch.Tensor], bool]:
        a, b = torch.zeros(4, device=device), torch.arange(6.0, device=device).view(2, 3)
        out = f(a, b)
        shared = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
        values = [t.clone() for t in (out, a, b)]
        a.add_(1)
        return [*values, a, b], shared

    expected, shared = run(fn)
    actual, compiled_shared = run(torch.compile(fn, backend=backend))
    assert compiled_shared == shared, "the input does not share its new storage"
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_adopt(device: str, backend: str) -> None:
    compare(adopt, device, backend)


def test_adopt_and_write(device: str, backend: str) -> None:
    compare(adopt_and_write, device, backend)


if __name__ == "__main__":
    test_adopt("cpu", "aot_eager")
