# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107599"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The graphs that aot_module gives to a compiler have no stack traces"
# component = "aotautograd"
# symptom = "wrong-result"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# compiles = false
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "nodes without a stack trace: \\['t', 'addmm'\\]"
# ///
"""A backend names the user's line by the stack_trace of a node. aot_module records none, so that a backend cannot say where
an operator comes from. Correct: every call_function node has one.
Source: pytorch issue 107599.
"""

import torch
from functorch.compile import aot_module, make_boxed_func


def test_nodes_have_stack_traces() -> None:
    graphs = []

    def compiler(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]):
        graphs.append(graph_module)
        return make_boxed_func(graph_module.forward)

    aot_module(torch.nn.Linear(3, 3), fw_compiler=compiler, bw_compiler=compiler)(torch.ones(2, 3))
    bare = [node.name for node in graphs[0].graph.nodes if node.op == "call_function" and not node.stack_trace]
    assert not bare, f"nodes without a stack trace: {bare}"


if __name__ == "__main__":
    test_nodes_have_stack_traces()
