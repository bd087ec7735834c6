"""What is asked of an interpreter that the user names, which may be anything."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from fake_torch import write_torch
from pt2bugs.envs.environment import EnvironmentFailure
from pt2bugs.run import interpreter
from pt2bugs.run.interpreter import named_interpreter


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_name_without_a_folder_is_not_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = write_torch(tmp_path / "torch", "2.91.0")
    program(tmp_path / "python", f'PYTHONPATH={torch} exec {sys.executable} "$@"')
    other = tmp_path / "elsewhere"
    other.mkdir()
    program(other / "python", "echo the other one >&2; exit 1")
    monkeypatch.setenv("PATH", f"{other}:/bin:/usr/bin")
    monkeypatch.chdir(tmp_path)
    target = named_interpreter(Path("python"))
    assert (target.key.torch, target.python) == ("2.91.0", tmp_path / "python")


def test_a_link_is_kept(tmp_path: Path) -> None:
    torch = write_torch(tmp_path / "torch", "2.91.0")
    real = program(tmp_path / "real", f'PYTHONPATH={torch} exec {sys.executable} "$@"')
    (tmp_path / "link").symlink_to(real)
    assert named_interpreter(tmp_path / "link").python == tmp_path / "link"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exec yes", "prints more than any Python would: 'y"),
        ("sleep 60 & sleep 60", "has not answered for 0.5 s"),
        ("echo '[[[['", "does not answer as a Python does"),
        ("echo 5", "does not answer as a Python does"),
        ("echo '{}'", "does not answer as a Python does"),
        (
            """echo '{"python": "abc", "torch": "2.9.1", "git": "", "present": []}'""",
            "does not answer as a Python does",
        ),
        ("echo no >&2; exit 3", "left with status 3: no"),
    ],
)
def test_a_program_that_is_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.setattr(interpreter, "_PATIENCE_S", 0.5 if "sleep" in text else 60)
    path = program(tmp_path / "python", text)
    with pytest.raises(EnvironmentFailure, match=re.escape(f"--python-exe {path}: {message}")):
        named_interpreter(path)
