# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/128944"
# fix = "https://github.com/pytorch/pytorch/pull/131674"
# title = "The builtin filter is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["iterator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function BuiltinVariable\(filter\) \[NestedUserFunctionVariable\(\), ListVariable\(\)\] \{\}'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "builtin: filter \\[<class 'torch\\._dynamo\\.variables\\.functions\\.NestedUserFunctionVariable'>, <"
# ///
"""Dynamo had map and zip, but no filter. Correct: one graph, whose product is over the tensors that
need a gradient.
Source: pytorch issue 128944.
"""

import torch


def product(tensors: list[torch.Tensor]) -> torch.Tensor:
    out = tensors[0]
    for tensor in filter(lambda t: t.requires_grad, tensors):
        out = out * tensor
    return out


def test_filtered_tensors(device: str, backend: str) -> None:
    tensors = [torch.arange(2.0, device=device), torch.arange(2.0, device=device).requires_grad_()]
    actual = torch.compile(product, backend=backend, fullgraph=True)(tensors)
    torch.testing.assert_close(actual, product(tensors), rtol=0, atol=0)


if __name__ == "__main__":
    test_filtered_tensors("cpu", "eager")
