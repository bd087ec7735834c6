# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/154703"
# fix = "https://github.com/pytorch/pytorch/pull/156296"
# upstream = "closed"
# upstream-seen = 2026-11-25
# reported-on = "2.8.0"
# title = "The mean of many floats on one thread is off by a percent"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["accuracy"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the mean of 16777216 times 0\.1 is 0\.10\d+'
#
# [[tool.pt2bugs.bug]]
# blocked = true
# torch = "<2.1"
# outcome = "raise"
# error = "RuntimeError"
# match = 'torch\._dynamo\.optimize is called on a non function object\.'
# ///
"""The C++ kernel adds all values into one vector register. After a million additions a lane holds so much that a further
0.1 is rounded by a percent of itself, always to the same side. Eager adds in a cascade. Correct: the mean in double
precision to a thousandth.
Source: pytorch issue 154703.
"""

import torch


def test_mean_of_equal_values(device: str, backend: str) -> None:
    x = torch.full((1 << 24,), 0.1, device=device)
    expected = x.double().mean().item()
    assert abs(x.mean().item() - expected) < 1e-5 * expected
    actual = torch.compile(torch.mean, backend=backend)(x).item()
    assert abs(actual - expected) < 1e-3 * expected, f"the mean of 16777216 times 0.1 is {actual:.5f}"


if __name__ == "__main__":
    test_mean_of_equal_values("cpu", "inductor")
