"""A file is its old self or its new one."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from pt2bugs.files import FileError, write_text


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


def test_bytes_of_a_path_that_are_no_utf8(tmp_path: Path) -> None:
    write_text(tmp_path / "x.csv", "caf\udce9")
    assert (tmp_path / "x.csv").read_text() == "caf\\udce9"
