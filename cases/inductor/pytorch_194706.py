# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194706"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "jacfwd of a chain of float16 products does not compile on the C++ backend"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["inductor"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# platform = "avx2"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "error: conflicting declaration .auto (at_Half|half)_tmp_acc"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# platform = "avx2"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "error: conflicting declaration .auto (at_Half|half)_tmp_acc"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Failed running call_function <function _jvp_treespec_compare"
# ///
"""The vectorised kernel names the cast of an accumulator to float16 after the type and the accumulator. Where
two stores in one scope cast the same accumulator, as the tangents of a product of sums do, it declares that
name twice, which g++ refuses. It takes a host with vector instructions. Correct: it compiles and agrees with
eager. Source: pytorch issue 194706.
"""

import torch


def chain(x: torch.Tensor) -> torch.Tensor:
    return torch.sum(torch.mm(torch.mm(torch.prod(x) + x, torch.sum(x) + x), torch.sum(x) + x))


def test_forward_mode_jacobian(device: str, backend: str) -> None:
    x = (torch.arange(1, 10, dtype=torch.float16, device=device) / 10).reshape(3, 3)
    jacobian = torch.func.jacfwd(chain)
    torch.testing.assert_close(torch.compile(jacobian, backend=backend)(x), jacobian(x), rtol=0.05, atol=0.5)


if __name__ == "__main__":
    test_forward_mode_jacobian("cpu", "inductor")
