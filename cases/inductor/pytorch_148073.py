# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148073"
# title = "Inductor's compile time grows exponentially on a chain of pointwise ops used twice"
# component = "inductor"
# symptom = "hang"
# devices = ["cpu"]
# timeout = 30
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "timeout"
# ///
"""Every value of the chain is used by the next two, as in the Fibonacci sequence. All of them read the
same two inputs, so nothing counts as read too often and no value is realized in a buffer; the loader of
a fused value calls the loaders of its operands anew at each use, and there are exponentially many.
Correct: each value is loaded once, compile time about linear; the result equals eager's.
Source: issue 148073.
"""

import torch

STEPS = 24


def chain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS):
        a, b = a + b, a * b
    return a + b


def test_reused_pointwise_chain_compiles(device: str, backend: str) -> None:
    a = torch.zeros(4, device=device)
    torch.testing.assert_close(torch.compile(chain, backend=backend)(a, a + 0), chain(a, a + 0))


if __name__ == "__main__":
    test_reused_pointwise_chain_compiles("cpu", "inductor")
