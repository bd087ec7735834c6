"""`pt2bugs triage` run on a program, by an interpreter that has nothing but a fake torch."""

from __future__ import annotations

import json
import textwrap
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_torch import write_torch
from pt2bugs.cli import main

PROGRAM = """
import torch


def unused(x):
    return x + 41


def double(x):
    return x * 2


y = unused(torch.ones(2))
x = torch.arange(4)
torch.testing.assert_close(torch.compile(double)(x), double(x))
print("done")
"""


def python_with(folder: Path, faults: Mapping[str, str], version: str = "2.90.0") -> Path:
    """An interpreter that has nothing but a fake torch."""
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python3.*/site-packages")
    write_torch(site, version, faults)
    return folder / "bin" / "python"


class Bench:
    """A folder with a program, and the command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.out = folder / "out"

    def program(self, text: str, name: str = "program.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def triage(self, *arguments: str, faults: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one run."""
        python = self.folder / "env" / "bin" / "python"
        if not python.exists():
            python_with(self.folder / "env", faults or {})
        command = ["triage", *arguments]
        at = command.index("--") if "--" in command else len(command)
        code = main([*command[:at], "--python-exe", str(python), "-o", str(self.out), *command[at:]])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def answer(self, *arguments: str, faults: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON of a program that fails."""
        code, out, _ = self.triage(*arguments, "--json", faults=faults)
        answer = dict(json.loads(out))
        assert code == (4 if answer["verdict"] == "not-a-bug" else 1)
        return answer
