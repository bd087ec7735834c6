# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/98835"
# fix = "https://github.com/pytorch/pytorch/pull/130074"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "An input passed as out= of an operator"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,!=2.2.0,!=2.2.1,<2.4"
# check = "test_out_is_resized"
# outcome = "raise"
# error = "RuntimeError"
# match = 'size of tensor a \(0\) must match the size of tensor b \(4\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# check = "test_out_is_resized"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'expand: attempting to expand a dimension of length 4!'
# ///
"""torch.add(x, 1, out=y) with y an input is a mutation of y, also if y has another dtype that the result may be
cast to, or is empty and is resized. Functionalization replaces it by the operator without out=, and the result
is copied into y, which still has its old size: after the graph in torch 2.1 to 2.3, while tracing in 2.4.
Correct: y holds eager's values in eager's shape and dtype. Source: pytorch issue 98835 (an empty out=, which
crashed under Inductor).
"""

import warnings

import torch


def add_into(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    torch.add(x, 1, out=y)
    return y * 2


def compare(device: str, backend: str, make: object) -> None:
    results = []
    for fn in (add_into, torch.compile(add_into, backend=backend)):
        y = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = fn(torch.arange(4.0, device=device), y)
        results.append((out, y))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def test_out(device: str, backend: str) -> None:
    compare(device, backend, lambda: torch.zeros(4, device=device))


def test_out_of_another_dtype(device: str, backend: str) -> None:
    compare(device, backend, lambda: torch.zeros(4, device=device, dtype=torch.float64))


def test_out_is_resized(device: str, backend: str) -> None:
    compare(device, backend, lambda: torch.empty(0, device=device))


if __name__ == "__main__":
    test_out_is_resized("cpu", "aot_eager")
    test_out("cpu", "aot_eager")
    test_out_of_another_dtype("cpu", "aot_eager")
