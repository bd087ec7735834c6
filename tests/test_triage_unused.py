"""What a smaller program does not need goes whole: calls, and what nothing uses after that."""

from __future__ import annotations

import ast
import textwrap

from pt2bugs.triage.unused import without_calls, without_unused

MODEL = textwrap.dedent("""
    import math
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.out = nn.Linear(width, width)

        def forward(self, x):
            return self.out(x) / math.sqrt(2)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gain = 0.5
            self.norm = nn.LayerNorm(width)
            self.attention = Attention(width)

        def forward(self, x):
            return x + self.gain * self.attention(self.norm(x))

    def shown(value, name):
        print(name, value)
        return value

    out = shown(torch.compile(Block(3))(torch.ones(3)), "out")
    """)


def test_a_class_goes_with_the_calls_of_its_instance() -> None:
    tried = []

    def check(source: str) -> bool:
        tried.append(source)
        return "self.gain * " in source and "Block(3)" in source

    smaller = without_calls(MODEL, check)
    assert ast.unparse(ast.parse(smaller)) == ast.unparse(
        ast.parse("""
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = 0.5

    def forward(self, x):
        return x + self.gain * x

torch.compile(Block(3))(torch.ones(3))
""")
    )
    assert len(tried) < 8


def test_another_argument_takes_the_place_where_the_first_will_not_do() -> None:
    source = "def f(a, b):\n    return b\nprint(f(1, 2))\nprint(f(*[3]))\n"
    assert without_calls(source, lambda candidate: "print(1)" not in candidate) == without_unused(
        "def f(a, b):\n    return b\nprint(2)\nprint(f(*[3]))\n"
    )


def test_what_nothing_reads_goes() -> None:
    source = """
import os, math
from torch import *

SIZE, unread = 3, 4

def unused(): return unused_too()
def unused_too(): return os.name

@decorated
def kept(): pass

@dataclasses.dataclass
class Fields: pass

class Module:
    width: int = 3
    depth: int = 4
    def __call__(self): return self.width
    def forward(self): return SIZE
    def helper(self): self.seen = Lost()

class Lost: pass

result = kept()
one, two = Module()
"""
    kept = """
from torch import *

SIZE, unread = 3, 4

@decorated
def kept(): pass

class Module:
    width: int = 3
    def __call__(self): return self.width
    def forward(self): return SIZE

kept()
Module()
"""
    assert without_unused(source) == ast.unparse(ast.parse(kept)) + "\n"


def test_a_block_that_is_empty_passes() -> None:
    assert without_unused("class A:\n    x = 1\nprint(A)\n") == "class A:\n    pass\nprint(A)\n"
