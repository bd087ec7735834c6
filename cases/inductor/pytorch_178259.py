# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/178259"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "int8 triu().min(dim=0) does not compile on the C++ backend"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# platform = "avx2"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "no matching function for call to .convert<int8_t, ?1, ?int64_t, ?2>"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.9"
# platform = "avx2"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "no matching function for call to .convert<int8_t, ?1, ?int64_t, ?2>"
# ///
"""The C++ backend vectorises a column minimum of int8 data whose mask (triu) compares int64 indices, so the
kernel mixes two element widths. Storing the int8 accumulator asks for a conversion from one pair of vector
counts to another that has no template instance, and the kernel does not compile. It takes a host with vector
instructions. Correct: it compiles and equals eager. Source: issue 178259.
"""

import torch


def test_column_minimum_of_an_int8_upper_triangle(device: str, backend: str) -> None:
    def column_minimum(x: torch.Tensor) -> torch.Tensor:
        return x.triu().min(dim=0).values

    torch.manual_seed(0)
    x = torch.randint(-128, 128, (57, 22), dtype=torch.int8).to(device)
    compiled = torch.compile(column_minimum, backend=backend)
    torch.testing.assert_close(compiled(x), column_minimum(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_column_minimum_of_an_int8_upper_triangle("cpu", "inductor")
