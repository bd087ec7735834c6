# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147213"
# fix = "https://github.com/pytorch/pytorch/pull/152677"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Strict export of a module that adds keys to a dict input fails"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "IndexError"
# match = "list index out of range"
# frame = 'torch/(_export/__init__|export/_trace)\.py:\d+ (convert_to_fake|lookup_fake)'
# ///
"""Dynamo replays the new keys into the dict it was given, the very inputs export goes on to flatten. There
are then more leaves than the graph has placeholders, and matching one to the other runs out of range.
Correct: an exported program that returns what eager returns, for a dict without the new keys.
Source: issue 147213.
"""

import torch


class AddKeys(torch.nn.Module):
    def forward(self, x: torch.Tensor, named: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        named.update({"sin": x.sin(), "cos": x.cos()})
        return named


def make_inputs(device: str) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    x = torch.arange(3.0, device=device)
    return x, {"first": x + 1, "second": x + 2}


def test_keys_added_to_dict_input(device: str) -> None:
    program = torch.export.export(AddKeys(), make_inputs(device), strict=True)
    torch.testing.assert_close(program.module()(*make_inputs(device)), AddKeys()(*make_inputs(device)))


if __name__ == "__main__":
    test_keys_added_to_dict_input("cpu")
