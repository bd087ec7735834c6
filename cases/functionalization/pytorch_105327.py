# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/105327"
# fix = "https://github.com/pytorch/pytorch/pull/108243"
# title = "aten.lift_fresh_copy in a compiled function: INTERNAL ASSERT in the functionalization fallback"
# component = "functionalization"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# check = "test_aot_function"
# torch = "<2.2"
# outcome = "raise"
# error = "RuntimeError"
# match = "isFunctionalTensor\\(self\\) INTERNAL ASSERT FAILED"
#
# [[tool.pt2bugs.bug]]
# check = "test_compile"
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "aten.lift_fresh_copy.*\n.* should not have fake inputs without constants"
#
# [[tool.pt2bugs.bug]]
# check = "test_compile"
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# # Torch 2.0 says no more than the line of the program.
# match = '^\s*from user code:\n[^\n]+\n\s+offsets = torch\.ops\.aten\.lift_fresh_copy'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# ///
"""make_fx writes a constant made during tracing as lift_fresh_copy(constant), so a graph that make_fx
produced and that is compiled again holds that op. Retraced, its input is already wrapped: functionalization
expected the op only on plain tensors and asserted; FakeTensor expected it only on known constants (torch 2.1
stops there, before the assert). On a wrapped input the op is a clone. Correct: the eager result.
The torch.compile check uses fullgraph=True, so that it cannot pass by falling back to eager.
Source: pytorch issues 105327 and 113331.
"""

import torch
from functorch.compile import aot_function, nop


def f(x: torch.Tensor) -> torch.Tensor:
    offsets = torch.ops.aten.lift_fresh_copy.default(torch.tensor([1.0, 2.0], device=x.device))
    return x + torch.cumsum(offsets, 0)


def example(device: str) -> torch.Tensor:
    return torch.arange(6.0, device=device).reshape(3, 2)


def test_aot_function(device: str) -> None:
    x = example(device)
    torch.testing.assert_close(aot_function(f, nop)(x), f(x), rtol=0, atol=0)


def test_compile(device: str, backend: str) -> None:
    x = example(device)
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x), f(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_aot_function("cpu")
    test_compile("cpu", "aot_eager")
