"""A file is its old self or its new one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pt2bugs.files import write_text


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \udcff")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
