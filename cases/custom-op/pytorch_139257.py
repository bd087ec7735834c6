# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/139257"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A custom op that swaps the storage of its mutated argument does not compile"
# component = "custom-op"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.4"
# labels = ["custom-op"]
# demands = ["custom-op", "mutation"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "expand: the requested shape has too few dimensions"
# ///
"""auto_functionalized runs a mutating custom op on clones and copies the result back into the functional tensor
of the argument. If the op calls set_ on it, the clone has another shape, and the write back is a copy_ into
the old one, which fails. Correct: as in eager the argument has the new contents, or a clear error.
Source: pytorch issue 139257, PR 186179 (closed).
"""

import torch


def define_op():
    @torch.library.custom_op("pt2bugs_139257::swap", mutates_args=["target"])
    def swap(target: torch.Tensor, source: torch.Tensor) -> None:
        target.set_(source)

    @swap.register_fake
    def _(target, source):
        target.set_(source)

    return swap


def test_custom_op_with_set(device: str, backend: str) -> None:
    swap = define_op()

    def fill(target: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        swap(target, x * 3)
        return target / 3

    x = torch.ones(2, 2, device=device)
    with torch.no_grad():
        actual = torch.compile(fill, backend=backend)(torch.empty(0, device=device), x)
    torch.testing.assert_close(actual, x)


if __name__ == "__main__":
    test_custom_op_with_set("cpu", "aot_eager")
