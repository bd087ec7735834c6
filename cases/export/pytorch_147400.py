# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147400"
# fix = "https://github.com/pytorch/pytorch/pull/147532"
# title = "A dataclass input that is no pytree fails in export without advice"
# component = "export"
# symptom = "missing-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "no advice to register the class: ValueError: Unsupported input type"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "no advice to register the class: AssertionError: $"
# ///
"""Non-strict export flattens the inputs with pytree; an unregistered dataclass is one opaque leaf, for which
making the inputs fake stops at "Unsupported input type" (torch 2.2: an assertion without text; the
development build of the report: one about metadata). Correct: an error that says how to go on, by registering
the class.
Source: pytorch issue 147400.
"""

import dataclasses

import torch


@dataclasses.dataclass
class Settings:
    shift: int


class AddShift(torch.nn.Module):
    def forward(self, x: torch.Tensor, settings: Settings) -> torch.Tensor:
        return x + settings.shift


def test_unregistered_dataclass_input(device: str) -> None:
    try:
        torch.export.export(AddShift(), (torch.ones(1, device=device), Settings(2)), strict=False)
    except Exception as error:
        advice = "regist" in str(error)
        assert advice, f"no advice to register the class: {type(error).__name__}: {error}"


if __name__ == "__main__":
    test_unregistered_dataclass_input("cpu")
