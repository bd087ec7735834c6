"""What the zygote prepares with a real torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
PROGRAM = """
import sys
from pathlib import Path

from pt2bugs.engine.warmup import prepare

sys.path.insert(0, sys.argv[1])
prepare({"threads": 1, "targets": [], "imports": ["hooked"], "distributions": []}, Path(sys.argv[1]))

import hooked
import torch
from torch._dynamo.utils import counters

torch.compile(hooked.heard, backend="eager")("event", ())
torch.compile(hooked.called, backend="eager")("event", ())
print(counters["frames"]["total"])
"""
HOOKED = """
import sys


def heard(event, arguments):
    pass


def called(event, arguments):
    pass


sys.addaudithook(heard)
"""


def test_dynamo_leaves_audit_hooks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
    (tmp_path / "hooked.py").write_text(HOOKED)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
