"""A file is its old self or its new one."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pt2bugs.files import FileError, write_text
from seeded import write_case, write_journal

AS_A_USER = """
import sys
from pt2bugs.engine.linux import drop_privileges
drop_privileges()
from pt2bugs.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""A command without root's right to read everything."""


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "x.csv"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(FileError, match=r"x\.csv: cannot be written: No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As root, `-o /dev/full` had made a file of that device, for all of the machine."""
    pipe, device = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="pipe: cannot be written"):
        write_text(pipe, "nobody reads it")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with contextlib.suppress(PermissionError):
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.close(os.open(device, os.O_WRONLY))
        write_text(device, "text")
        assert stat.S_ISCHR(device.stat().st_mode)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(FileError, match="is no file"):
            write_text(tmp_path / "socket", "text")


def test_bytes_of_a_path_that_are_no_utf8(tmp_path: Path) -> None:
    write_text(tmp_path / "x.csv", "caf\udce9")
    assert (tmp_path / "x.csv").read_text() == "caf\\udce9"


@pytest.mark.parametrize(
    ("verb", "closed"),
    [
        ("list", "cases"),
        ("list", "cases/dynamo"),
        ("compare", "cases/dynamo"),
        ("compare", "cases/dynamo/pytorch_1.py"),
        ("compare", "results/journal"),
        ("compare", "results/journal/pytorch_1.jsonl"),
        ("report", "results/fixes"),
        ("merge", "results/journal"),
        ("triage", "programs"),
    ],
)
def test_what_may_not_be_read_is_not_taken_for_absent(tmp_path: Path, verb: str, closed: str) -> None:
    """A part of the corpus or of the results that is left out would be an answer that is wrong."""
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.8.0": ".", "2.9.1": "B"})
    for folder in ("results/fixes", "programs"):
        (tmp_path / folder).mkdir()
    arguments = {
        "compare": ["2.8.0", "2.9.1", "--offline"],
        "report": ["-o", "site"],
        "merge": ["results", "-o", "merged"],
        "triage": ["programs"],
    }
    path = tmp_path / closed
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", AS_A_USER, verb, *arguments.get(verb, [])],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        path.chmod(mode)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert f"{closed}: cannot be read: " in done.stderr
    assert "Permission denied" in done.stderr.splitlines()[-1]
