# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/151196"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "vmap of jacfwd does not compile: an internal assertion about inference tensors"
# component = "functorch"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.1"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# outcome = "raise"
# error = "RuntimeError"
# match = "InferenceMode::is_enabled\\(\\)[\\s\\S]*is_inference\\(\\) INTERNAL ASSERT FAILED"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "InferenceMode::is_enabled\\(\\)[\\s\\S]*is_inference\\(\\) INTERNAL ASSERT FAILED"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "Cannot access data pointer of Tensor that doesn't have storage"
# ///
"""jacfwd makes dual tensors. While jacfwd under vmap is traced with fake tensors, the call for the wrapped batched
tensors falls through to the implementation meant for inference mode, which asserts that it is in it and fails;
jacrev in place of jacfwd compiles. From 2.14 on Dynamo gives up on the frame, and eager fails by the same assertion as long
as the garbage collector has not taken away what the attempt left behind; so that no collection decides, none runs here.
Correct: the value of eager; a release that gives up on the frame leaves no graph and has it, hence compiles = false.
Source: pytorch issue 151196; 160508 reports the same in a Newton iteration.
"""

import gc

import torch
from torch.func import jacfwd, vmap


def test_vmap_of_jacfwd(device: str, backend: str) -> None:
    linear = torch.nn.Linear(3, 3, bias=False, device=device)
    torch.nn.init.eye_(linear.weight)

    def scaled(t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(linear(x)) * t

    def derivative(t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return vmap(jacfwd(scaled, argnums=0), in_dims=(0, 0))(t, x)

    t, x = torch.ones(4, device=device), torch.linspace(-1, 1, 12, device=device).reshape(4, 3)
    gc.disable()
    try:
        actual = torch.compile(derivative, backend=backend)(t, x)
    finally:
        gc.enable()
    torch.testing.assert_close(actual, torch.tanh(x))


if __name__ == "__main__":
    test_vmap_of_jacfwd("cpu", "aot_eager")
