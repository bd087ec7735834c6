# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/88817"
# title = "An input passed as out= of an operator"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
# ///
"""torch.add(x, 1, out=y) with y an input is a mutation of y, also if y is a view, has another dtype that the
result may be cast to, or is empty and resized. Functionalization replaces it by the operator without out= and
a copy. Correct: y holds eager's values in eager's shape and dtype, is what the operator returns, and a base
that it is a view of has changed with it. Source: pytorch PR 88817.
"""

import warnings

import torch


def add_into(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    torch.add(x, 1, out=y)
    return y * 2


def compare(device: str, backend: str, make: object) -> None:
    results = []
    for fn in (add_into, torch.compile(add_into, backend=backend)):
        base = make()
        y = base[::2] if base.numel() else base
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = fn(torch.arange(4.0, device=device), y)
        results.append((out, y, base))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def test_out_is_a_view(device: str, backend: str) -> None:
    compare(device, backend, lambda: torch.zeros(8, device=device))


def test_out_of_another_dtype(device: str, backend: str) -> None:
    compare(device, backend, lambda: torch.zeros(8, device=device, dtype=torch.float64))


def test_out_is_resized(device: str, backend: str) -> None:
    compare(device, backend, lambda: torch.empty(0, device=device))


if __name__ == "__main__":
    test_out_is_a_view("cpu", "aot_eager")
    test_out_of_another_dtype("cpu", "aot_eager")
    test_out_is_resized("cpu", "aot_eager")
