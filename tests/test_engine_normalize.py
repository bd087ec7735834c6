"""Paths of the machine do not get into the journal."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.warmup import interpreter_paths


def test_what_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PT2BUGS_HOME", "/somewhere/cache")
    site, stdlib = sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")
    normalizer = Normalizer(interpreter_paths())
    for text, expected in {
        f'File "{site}/torch/_dynamo/x.py", line 3': 'File "torch/_dynamo/x.py", line 3',
        f"{stdlib}/abc.py": "abc.py",
        "/corpus/dynamo/pytorch_1.py:4": "pytorch_1.py:4",
        "/corpus/dynamo/helper.py:4": "helper.py:4",
        "x == 8  # count += 1  # pus/dynamo/pytorch_1.py:36 in f": "x == 8  # count += 1  # pytorch_1.py:36 in f",
        'File "/link/to/dynamo/pytorch_1.py", line 3': 'File "pytorch_1.py", line 3',
        f"{tempfile.gettempdir()}/pt2bugs-run-cells-ab_c1/cell-x9/inductor/k.cpp": "<cell>/inductor/k.cpp",
        f"{tempfile.gettempdir()}/pt2bugs-run-cells-ab_c1/zygote.log": "<scratch>/zygote.log",
        "/somewhere/cache/warm": "<cache>/warm",
        f"{sys.prefix}/bin/python": "<env>/bin/python",
        f"{Path.home()}/notes{os.sep}": f"~/notes{os.sep}",
        "<function f at 0x7f1e2c3b4d50>": "<function f at 0x...>",
        "#1: f() + 0x8b (0x7f0b45f0db35 in libc10.so)": "#1: f() + 0x8b (0x... in libc10.so)",
        "Current thread 0x00007f1e2c3b4d50 (most recent": "Current thread 0x... (most recent",
        "guard != 0x7fffffffffffffff": "guard != 0x7fffffffffffffff",
        "no path at all": "no path at all",
    }.items():
        assert normalizer.hide(text, Path("/corpus/dynamo/pytorch_1.py")) == expected


@pytest.mark.parametrize("folder", ["", "/pt2bugs-run-triage-a1"])
def test_a_program_among_temporary_files(folder: str) -> None:
    """What lies beside it loses its folder, and a folder in that keeps the word for it."""
    beside = Path(f"{tempfile.gettempdir()}{folder}")
    run = f"{tempfile.gettempdir()}/pt2bugs-run-cells-ab_c1"
    text = f"{run}/cell-x9/k.cpp {run}/zygote.log {beside}/helper.py"
    expected = "<cell>/k.cpp <scratch>/zygote.log helper.py"
    assert Normalizer({}).hide(text, beside / "program.py") == expected


def test_a_word_of_any_length_is_read_once() -> None:
    """Quadratic, this took minutes."""
    normalizer = Normalizer({})
    case = Path("/corpus/dynamo/pytorch_1.py")
    for text in ("\0" * 200_000, "x" * 200_000, "/" * 200_000, "/pytorch_1.pyx" * 20_000):
        assert normalizer.hide(text, case) == text
    assert normalizer.hide("x/pytorch_1.py" * 20_000 + ":3", case) == "pytorch_1.py:3"
