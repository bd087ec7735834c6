# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/116221"
# fix = "https://github.com/pytorch/pytorch/pull/123196"
# same-fix = "pytorch_113263"
# title = "Hooks on saved tensors around a compiled call are not run"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["hook"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradients \(8\.0, 4\.0\), the hooks make them \(4\.0, 2\.0\)'
# ///
"""The compiled function saves what its backward needs, but not through the hooks that are active when it is called.
Correct: pack and unpack run, and the gradients are doubled as in eager.
Source: pytorch issue 116221.
"""

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a * b


def test_unpack_hook_runs(device: str, backend: str) -> None:
    a = torch.ones([], device=device, requires_grad=True)
    b = torch.tensor(2.0, device=device, requires_grad=True)
    compiled = torch.compile(product, backend=backend, fullgraph=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda saved: 2 * saved):
        out = compiled(a, b)
    out.backward()
    grads = (a.grad.item(), b.grad.item())
    assert grads == (4.0, 2.0), f"gradients {grads}, the hooks make them (4.0, 2.0)"


if __name__ == "__main__":
    test_unpack_hook_runs("cpu", "aot_eager")
