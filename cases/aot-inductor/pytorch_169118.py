# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/169118"
# fix = "https://github.com/pytorch/pytorch/pull/169347"
# title = "A flag that is set after torch.cond is read by it as set"
# component = "aot-inductor"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-24
# devices = ["cpu"]
# compiles = false
# timeout = 120
# requires-torch = ">=2.6"
# labels = ["aot-inductor", "control-flow"]
# demands = ["mutation", "control-flow"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the two calls give \[10\.0, 10\.0\]'
# ///
"""The predicate is a buffer that the program fills with True after the cond. The generated code inlines the small
buffer as a constant that is made after the fill. Correct: the first call takes the branch of False, the second that
of True.
Source: pytorch issue 169118, PR 169347.
"""

import torch


class OnceInitialized(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("initialized", torch.tensor([False]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.cond(self.initialized, lambda t: t + 10, lambda t: t + 1, (x,))
        self.initialized.fill_(True)
        return out


def test_branch_of_each_call() -> None:
    exported = torch.export.export(OnceInitialized(), (torch.zeros(1),), strict=True)
    loaded = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(exported))
    values = [loaded(torch.zeros(1)).item() for _ in range(2)]
    assert values == [1.0, 10.0], f"the two calls give {values}"


if __name__ == "__main__":
    test_branch_of_each_call()
