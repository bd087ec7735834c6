# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183015"
# same-fix = "pytorch_151196"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "vmap of a hessian does not compile"
# component = "functorch"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Dynamo failed to run FX node with fake tensors: call_function <function _autograd_grad at"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# outcome = "raise"
# error = "RuntimeError"
# match = 'InferenceMode::is_enabled\(\) && primal\.is_inference\(\) && tangent\.is_inference\(\) INTERNAL AS'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <function _jvp_treespec_compare at \d+x\.\.\.>\(\*\(\(BatchedTensor\(lv'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'function _autograd_grad[\s\S]*&& self\.is_inference\(\) INTERNAL ASSERT FAILED'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'meta_utils\.py:\d+ meta_tensor'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "Cannot access data pointer of Tensor that doesn't have storage"
# blocked = true
# ///
"""hessian is jacfwd of jacrev: the fake tensors of the inner gradient are wrapped for vmap and for forward mode, and are taken
apart in the wrong order. Whether they are still there depends on when garbage is collected: never, here. Correct: eager's
second derivatives.
Source: pytorch issue 183015.
"""

import gc

import torch


def energy(x: torch.Tensor) -> torch.Tensor:
    return (x * x * x).sum()


def test_second_derivatives(device: str, backend: str) -> None:
    hessians = torch.func.vmap(torch.func.hessian(energy))
    x = torch.tensor([[1.0, 2.0]], device=device)
    gc.disable()
    torch.compile(lambda x: x + 1, backend=backend)(x)
    values = torch.compile(hessians, backend=backend)(x).tolist()
    assert values == [[[6.0, 0.0], [0.0, 12.0]]], f"second derivatives of x ** 3 at 1 and 2 are {values}"


if __name__ == "__main__":
    test_second_derivatives("cpu", "aot_eager")
