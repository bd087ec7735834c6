# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/140220"
# fix = "https://github.com/pytorch/pytorch/pull/184217"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "cpp_wrapper with triton.debug_sync_kernel writes Python into C++ code"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# timeout = 180
# demands = []
# ///
"""With triton.debug_sync_kernel Inductor waits for the device after every kernel. The scheduler wrote the line for
that, torch.cuda.synchronize(), into whatever wrapper was being made, and with cpp_wrapper that is a C++ file.
From torch 2.14 on the wrapper says how to wait. Correct: it compiles and equals eager. As reported:
CppCompileError, the compiler stops at that line. Source: pytorch issue 140220 (also 140219, debug_sync_graph),
PR 184217.
"""

import torch


def row_sums(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).sum(dim=1)


def test_both_options(device: str) -> None:
    x = torch.arange(12.0, device=device).reshape(3, 4)
    compiled = torch.compile(row_sums, options={"cpp_wrapper": True, "triton.debug_sync_kernel": True})
    torch.testing.assert_close(compiled(x), row_sums(x))


if __name__ == "__main__":
    test_both_options("cuda")
