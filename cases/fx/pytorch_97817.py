# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/97817"
# fix = "https://github.com/pytorch/pytorch/pull/97903"
# title = "A replacement that returns its input claims all nodes before it"
# component = "fx"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = "replacement nodes are \\['x_1', 'add', 'mul', 'sub'\\]"
# ///
"""replace_pattern_with_filters collects the nodes of the replacement by walking from its outputs back to its
inputs. Where the replacement is the input itself, the walk does not stop and takes everything before it. Correct:
no more than the one node. Source: pytorch issue 97817.
"""

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.subgraph_rewriter import replace_pattern_with_filters


def model(x: torch.Tensor) -> torch.Tensor:
    y = (x + 1) * 2 - 3
    return y.unsqueeze(0).squeeze(0)


def pattern(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.squeeze.dim(torch.ops.aten.unsqueeze.default(x, 0), 0)


def test_nodes_of_a_trivial_replacement() -> None:
    graph_module = make_fx(model)(torch.ones(2))
    (match,) = replace_pattern_with_filters(graph_module, pattern, lambda x: x, [])
    names = [node.name for node in match.replacements]
    assert len(names) <= 1, f"replacement nodes are {names}"


if __name__ == "__main__":
    test_nodes_of_a_trivial_replacement()
