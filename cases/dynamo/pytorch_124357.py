# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/124357"
# fix = "https://github.com/pytorch/pytorch/pull/125202"
# title = "A changed int attribute of a compiled module is ignored"
# component = "dynamo"
# symptom = "wrong-result"
# # More graphs since torch 2.4: the attribute is guarded, and the function is compiled again.
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "added \\[3.0, 3.0, 3.0\\]"
#
# [[tool.pt2bugs.bug]]
# # The guards of a module's attributes miss the change.
# torch = ">=2.9,<2.12"
# python = ">=3.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "added \\[3.0, 3.0, 3.0\\]"
# ///
"""Dynamo puts an int attribute of an nn.Module into the code as a constant and did not guard it
(guard_nn_modules was off), so the code compiled for the first value runs for every later one. Correct: each
call sees the attribute as it is then; the module recompiles.
Source: pytorch issue 124357.
"""

import torch


class AddStep(torch.nn.Module):
    step = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.step


def test_changed_int_attribute(device: str, backend: str) -> None:
    module = AddStep()
    compiled = torch.compile(module, backend=backend)
    added = []
    for module.step in (3, 7, 20):
        added.append(compiled(torch.zeros(1, device=device)).item())
    assert added == [3.0, 7.0, 20.0], f"steps 3, 7 and 20 added {added}"


if __name__ == "__main__":
    test_changed_int_attribute("cpu", "eager")
