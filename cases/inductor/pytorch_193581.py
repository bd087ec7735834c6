# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/193581"
# fix = "https://github.com/pytorch/pytorch/pull/178962"
# title = "The C++ kernel of an index_select of a conv2d output uses an undeclared temporary"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.13"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "tmp\\d+\\W+was not declared in this scope[\\s\\S]*transpose_mxn"
# ///
"""To read a channels-last conv output contiguously the C++ backend loads tiles through transpose_mxn, placed
before the loop body. Here the address depends on an index that is loaded within the body, so the call names a
temporary that is declared later, and the kernel does not compile. It takes a host with vector instructions.
Correct: it compiles and equals eager.
Source: pytorch issue 193581.
"""

import torch


def pick_rows(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    y = torch.nn.functional.conv2d(x, weight, padding=2)
    return torch.index_select(y, 2, torch.tensor([3, 4, 6, 8], device=x.device))


def test_rows_of_a_convolution(device: str, backend: str) -> None:
    x = torch.arange(60.0, device=device).reshape(1, 2, 5, 6)
    weight = torch.ones(2, 2, 1, 6, device=device)
    with torch.no_grad():
        actual = torch.compile(pick_rows, backend=backend)(x, weight)
        torch.testing.assert_close(actual, pick_rows(x, weight))


def bench_rows_of_a_convolution(device: str) -> tuple:
    weight = torch.randn(32, 16, 3, 3, device=device)

    def rows(x: torch.Tensor) -> torch.Tensor:
        return pick_rows(x, weight)

    return torch.no_grad()(rows), (torch.randn(8, 16, 64, 64, device=device),)


if __name__ == "__main__":
    test_rows_of_a_convolution("cpu", "inductor")
