"""Settings become their values, small functions what they compute."""

from __future__ import annotations

import pytest
from pt2bugs.triage.inlining import with_bodies, with_one_pass, with_settings, with_values
from pt2bugs.triage.unused import without_unused

PROGRAM = """
import argparse
SIZE = 3

class Config:
    width: int = 4
    depth: int = 2

class Model:
    def __init__(self, config):
        self.gain = 0.5
        self.depth_of = config.depth
        self.rate = config.width
        self.rate = 2

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", default=8)
options = parser.parse_args()
model = Model(Config())
print(model.gain, options.batch_size, SIZE, model.rate, model.depth_of)
"""


def test_settings_become_their_values() -> None:
    """Not what is bound twice, nor what the check needs."""
    smaller = with_settings(PROGRAM, lambda source: "model.gain" in source)
    assert "print(model.gain, 8, 3, model.rate, model.depth_of)" in smaller
    assert "self.depth_of = 2" in smaller
    assert "self.rate = 4\n        self.rate = 2" in smaller
    assert "depth: int" not in smaller
    assert "SIZE" not in smaller


LOOP = """
class Rows:
    def batches(self):
        yield 1, 2

for epoch in range(2):
    for row, label in Rows().batches():
        step(row, epoch)
"""


def test_a_loop_becomes_one_pass() -> None:
    assert with_one_pass(LOOP, lambda source: "range(2)" in source) == (
        "for epoch in range(2):\n    row = torch.ones(2, 2)\n    step(row, epoch)\n"
    )
    once = with_one_pass(LOOP, lambda source: "epoch = torch" not in source)
    assert once == "epoch = 0\nrow = torch.ones(2, 2)\nstep(row, epoch)\n"
    assert with_one_pass(LOOP, lambda source: False) == LOOP


def test_names_that_are_read_once_become_their_values() -> None:
    source = "model = f(3)\ncompiled = g(model)\nx = 1\nh(compiled, x, x)\nfor y in x:\n    y = 3\n"
    assert with_values(source, lambda candidate: True) == "x = 1\nh(g(f(3)), x, x)\nfor y in x:\n    y = 3\n"
    assert with_values(source, lambda candidate: "model" in candidate).startswith("model = f(3)\nx = 1\nh(g(model)")


@pytest.mark.parametrize(
    ("function", "call", "becomes"),
    [
        ("def f(a, b):\n    return g(b, a)\n", "f(1, x + 2)", "g(x + 2, 1)"),
        ("def f(a):\n    a(3)\n", "f(f(h))", "h(3)(3)"),
        ("def f(a, b=1):\n    return a\n", "f(1)", ""),
        ("def f(*a):\n    return a\n", "f(1)", ""),
        ("def f(a):\n    b = a\n    return b\n", "f(1)", ""),
        ("def f(a):\n    return a\n", "f(a=1)", ""),
        ("@wrapped\ndef f(a):\n    return a\n", "f(1)", ""),
    ],
)
def test_a_small_function_becomes_what_it_computes(function: str, call: str, becomes: str) -> None:
    source = f"{function}print({call})\n"
    expected = f"print({becomes})\n" if becomes else without_unused(source)
    assert with_bodies(source, lambda candidate: True) in (expected, source)
    assert not becomes or with_bodies(source, lambda candidate: True) == expected
