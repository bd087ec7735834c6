# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/131910"
# fix = "https://github.com/pytorch/pytorch/pull/157267"
# title = "Tensor.byte() of negative floats is 0 in vectorized code"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-24
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.9"
# outcome = "wrong"
# error = "AssertionError"
# match = '\-1\.5, \-1, 0\.5 and 1\.5 are \[0, 0, 0, 1\] as bytes'
# ///
"""The vectorized conversion clamps negative floats to 0, eager converts by way of a signed integer and wraps. The
thread was closed because C++ leaves the conversion undefined; PR 157267, for issue 156788, made Inductor follow
eager. Correct: eager's bytes.
Source: pytorch issue 131910.
"""

import torch


def as_bytes(x: torch.Tensor) -> torch.Tensor:
    return x.byte()


def test_negative_floats(device: str, backend: str) -> None:
    x = torch.tensor([-1.5, -1.0, 0.5, 1.5] * 8, device=device)
    values = torch.compile(as_bytes, backend=backend)(x).tolist()[:4]
    assert values == as_bytes(x).tolist()[:4], f"-1.5, -1, 0.5 and 1.5 are {values} as bytes"


if __name__ == "__main__":
    test_negative_floats("cpu", "inductor")
