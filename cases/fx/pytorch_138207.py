# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138207"
# fix = "https://github.com/pytorch/pytorch/pull/139275"
# title = "split_module makes a partition without output node where nobody uses its values"
# component = "fx"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = "submod_1 has no output node"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "IndexError"
# match = "list index out of range"
# frame = "split_module.py:\\d+ split_module"
# ///
"""split_module moves the nodes of each partition into a graph of its own and ends it with an output node only if
another partition uses one of its values. A partition with side effects alone, as an assertion, gets a graph
without output, on which later passes stop. Correct: every graph ends in an output node.
Source: pytorch issue 138207, PR 139275.
"""

import torch
from torch.fx import symbolic_trace
from torch.fx.passes.split_module import split_module


def checked_scale(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    torch._assert(x.shape[0] > 0, "empty")
    return y * 2


def test_partition_without_users(device: str) -> None:
    graph_module = symbolic_trace(checked_scale)
    split = split_module(graph_module, None, split_callback=lambda node: 0 if node.name in ("add", "mul") else 1)
    for name, submodule in split.named_children():
        outputs = [node for node in submodule.graph.nodes if node.op == "output"]
        assert len(outputs) == 1, f"{name} has no output node"
    x = torch.ones(2, device=device)
    torch.testing.assert_close(split(x), checked_scale(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_partition_without_users("cpu")
