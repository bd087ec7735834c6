# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/140014"
# fix = "https://github.com/pytorch/pytorch/pull/141340"
# title = "split_module with keep_original_order fails on a graph without calls"
# component = "fx"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.6"
# outcome = "raise"
# error = "KeyError"
# match = "'value'"
# frame = "fx/passes/split_module.py"
# ///
"""With keep_original_order, split_module inserts the placeholders together with the first partition. A graph that only
returns its input has no partition, so the new graph gets no placeholder, and the output looks one up. Correct: the
module that split_module makes without keep_original_order: it returns its input.
Source: pytorch issue 140014.
"""

import torch
from torch.fx.passes.split_module import split_module


class Identity(torch.nn.Module):
    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return value


def test_graph_without_calls(device: str) -> None:
    value = torch.ones(2, device=device)
    for keep in (False, True):
        traced = torch.fx.symbolic_trace(Identity())
        split = split_module(traced, None, lambda node: 0, keep_original_order=keep)
        torch.testing.assert_close(split(value), value, rtol=0, atol=0)


if __name__ == "__main__":
    test_graph_without_calls("cpu")
