# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148073"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "Inductor's compile time grows exponentially on a chain of pointwise ops used twice"
# component = "inductor"
# symptom = "hang"
# devices = ["cpu"]
# demands = []
# timeout = 50
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "timeout"
# frame = 'torch/_inductor/(lowering\.py:\d+ inner_fn|scheduler\.py|codegen/)'
# ///
"""Every value of the chain is used by the next two, as in the Fibonacci sequence. All of them read the
same two inputs, so nothing counts as read too often and no value is realized in a buffer; the loader of
a fused value calls the loaders of its operands anew at each use, and there are exponentially many.
With 40 steps the first walk through a loader does not end, on a fast machine either.
Correct: each value is loaded once, compile time about linear; the result equals eager's.
Source: issue 148073.
"""

import torch

STEPS = 40


def chain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS):
        a, b = a + b, a * b
    return a + b


def test_reused_pointwise_chain_compiles(device: str, backend: str) -> None:
    a, b = torch.linspace(-0.5, 0.25, 4, device=device), torch.linspace(0.25, 0.125, 4, device=device)
    expected = chain(a, b)
    assert expected.abs().min() > 0.05, expected
    torch.testing.assert_close(torch.compile(chain, backend=backend)(a, b), expected)


if __name__ == "__main__":
    test_reused_pointwise_chain_compiles("cpu", "inductor")
