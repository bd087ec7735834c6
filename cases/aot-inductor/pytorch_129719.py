# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/129719"
# fix = "https://github.com/pytorch/pytorch/pull/129824"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "aot_compile of a make_fx graph ends in a TypeError about a path"
# component = "aot-inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# compiles = false
# labels = ["aot-inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "stat: path should be string, bytes, os.PathLike or integer, not function"
# ///
"""AOTInductor expects a graph that returns a tuple. A graph of make_fx returns a tensor, for which the compile
step wraps the graph and hands back a Python function where the path of a library is expected; os.path.exists
then complains about its argument. Correct: a library, or an error that says that the graph must return a
tuple.
Source: pytorch issue 129719.
"""

import torch
from torch.fx.experimental.proxy_tensor import make_fx


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def test_graph_with_a_tensor_as_output(device: str) -> None:
    args = (torch.ones(3, device=device), torch.ones(3, device=device))
    graph_module = make_fx(Sum(), tracing_mode="symbolic")(*args)
    try:
        torch._inductor.aot_compile(graph_module, args)
    except Exception as error:
        assert "tuple" in str(error), f"neither a library nor a clear refusal: {error}"


if __name__ == "__main__":
    test_graph_with_a_tensor_as_output("cpu")
