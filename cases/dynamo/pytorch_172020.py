# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172020"
# fix = "https://github.com/pytorch/pytorch/pull/172126"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A hook on an intermediate tensor needs compiled autograd"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["hook"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.11"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Compilation of intermediate hooks requires compiled autograd"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Unexpected callable type passed to register_hook|call_function args: TensorVariable\(\) NestedUserFunctionVariable\(\)'
# ///
"""A hook on a tensor made in the graph has to run in the backward pass, between two operators of the compiled
backward. Dynamo allowed it only under compiled autograd and broke the graph elsewhere. Correct: one graph, and the
hook changes the gradient as in eager. Source: pytorch issue 172020.
"""

import torch


def hooked(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.register_hook(lambda grad: grad + 1)
    return y.sum()


def test_hook_changes_the_gradient(device: str, backend: str) -> None:
    x = torch.ones(3, device=device, requires_grad=True)
    torch.compile(hooked, backend=backend, fullgraph=True)(x).backward()
    assert x.grad.tolist() == [4.0] * 3, f"gradient is {x.grad.tolist()}"


if __name__ == "__main__":
    test_hook_changes_the_gradient("cpu", "aot_eager")
