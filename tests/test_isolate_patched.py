"""A patched copy of torch: the installed one stays the same to the byte."""

from __future__ import annotations

import compileall
import hashlib
from pathlib import Path

import pytest
from fake_torch import write_torch
from pt2bugs.isolate.patched import CopyError, PatchedTorch, patched_torch


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    folder = write_torch(tmp_path / "site-packages", files={"include/a.h": "// a\n"}) / "torch"
    compileall.compile_dir(folder, quiet=1)
    (tmp_path / "site-packages" / "nvidia").mkdir()
    return folder


def digests(folder: Path) -> dict[str, tuple[str, int, int]]:
    return {
        path.relative_to(folder).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_ino,
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_installation_stays_the_same(installed: Path, tmp_path: Path) -> None:
    before = digests(installed)
    with patched_torch(installed, tmp_path / "copies", "torch-2.90.0") as copy:
        copy.patch({"version.py": "__version__ = 'other'\n", "_dynamo/new.py": "x = 1\n"})
        torch = copy.path / "torch"
        assert (torch / "version.py").read_text() == "__version__ = 'other'\n"
        assert (torch / "version.py").stat().st_ino != (installed / "version.py").stat().st_ino
        assert (torch / "__init__.py").stat().st_ino == (installed / "__init__.py").stat().st_ino
        assert not list((torch / "__pycache__").glob("version.*"))
        assert (copy.path / "nvidia").is_symlink()
        copy.patch({"__init__.py": ""})
        assert (torch / "version.py").stat().st_ino == (installed / "version.py").stat().st_ino
        assert not (torch / "_dynamo" / "new.py").exists()
        assert digests(installed) == before
    assert digests(installed) == before
    assert not copy.path.exists()


def test_precompiled_headers_go_with_a_header(installed: Path, tmp_path: Path) -> None:
    copy = PatchedTorch(installed, tmp_path / "copy")
    headers = copy.home / "warm" / "x" / "torchinductor_me" / "precompiled_headers"
    headers.mkdir(parents=True)
    copy.patch({"version.py": ""})
    assert headers.exists()
    copy.patch({"include/a.h": "// b\n"})
    assert not headers.exists()


def test_two_copies_at_once_are_apart(installed: Path, tmp_path: Path) -> None:
    with (
        patched_torch(installed, tmp_path / "copies", "t") as first,
        patched_torch(installed, tmp_path / "copies", "t") as second,
    ):
        assert first.path != second.path


def test_a_copy_that_cannot_be_made_is_one_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CopyError, match="file"), patched_torch(installed, tmp_path / "file", "t"):
        pass
