# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/84570"
# title = "make_fx(functionalize(symbolic_trace(f))) must replace the in-place call methods in f"
# component = "functionalization"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
# guard = true
# ///
"""A GraphModule is a callable without __code__: make_fx looked at that attribute of what functionalize
had wrapped, and raised AttributeError before any tracing (torch 1.13 nightlies). Correct: the in-place call
method of the symbolic trace becomes the functional operator, nothing mutates, and the values are eager's.
A guard: the failure is older than torch 2.0; seen passing on every release from 2.0.1 to 2.15.0.
Source: pytorch issue 84570.
"""

import torch
from torch import fx
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx


def f(x: torch.Tensor) -> torch.Tensor:
    y = x - 1
    y.relu_()
    return y


def test_symbolic_trace_then_functionalize(device: str) -> None:
    x = torch.tensor([-1.0, 0.5, 3.0], device=device)
    traced = fx.symbolic_trace(f)
    assert any(node.target == "relu_" for node in traced.graph.nodes), traced.code
    graph = make_fx(functionalize(traced))(x)
    targets = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    assert targets == [torch.ops.aten.sub.Tensor, torch.ops.aten.relu.default], graph.code
    torch.testing.assert_close(graph(x), f(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_symbolic_trace_then_functionalize("cpu")
