"""The folders of a run and of its cells: made, replaced, removed whatever was left in them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest
from pt2bugs.engine import folders
from pt2bugs.engine.folders import CellFolder, RunFolder, mirror


class TestCellFolder:
    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CellFolder:
        for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            monkeypatch.setenv(name, "")
        home = CellFolder(tmp_path, "cell-0")
        home.make()
        Path(home.path, "output").write_text("printed")
        return home

    def is_new(self, home: CellFolder) -> bool:
        """Whether it is as a cell expects it; the output may be there, and is empty then."""
        path = Path(home.path)
        output = path / "output"
        folders = [entry for entry in path.iterdir() if entry != output]
        assert sorted(entry.name for entry in folders) == ["home", "tmp", "work"]
        assert os.environ["HOME"] == f"{home.path}/home"
        return (
            all(entry.stat().st_mode == stat.S_IFDIR | 0o700 and not list(entry.iterdir()) for entry in folders)
            and path.stat().st_mode == stat.S_IFDIR | 0o700
            and (not output.exists() or output.read_text() == "")
        )

    @pytest.mark.parametrize(
        "what",
        [
            "pass",
            "(home / 'tmp' / 'file').touch()",
            "(home / 'inductor').mkdir()",
            "(home / 'work' / '.hidden').mkdir()",
            "(home / 'home').rmdir()",
            "(home / 'tmp').chmod(0)",
            "home.chmod(0o500)",
            "(home / 'work').rmdir(); (home / 'work').symlink_to(home.parent)",
            "(home / 'output').unlink()",
            "shutil.rmtree(home)",
            "shutil.rmtree(home); home.touch()",
            "shutil.rmtree(home); home.symlink_to(elsewhere)",
        ],
    )
    def test_is_replaced(self, home: CellFolder, tmp_path_factory: pytest.TempPathFactory, what: str) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (elsewhere / "kept").mkdir(mode=0o755)
        exec(what, {"home": Path(home.path), "shutil": shutil, "elsewhere": elsewhere})
        home.renew()
        home.make()
        assert self.is_new(home)
        assert (elsewhere / "kept").stat().st_mode == stat.S_IFDIR | 0o755

    @pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
    def test_a_linked_output_is_not_emptied(self, home: CellFolder, tmp_path: Path, kind: str) -> None:
        mine = tmp_path / "mine"
        mine.write_text("mine")
        output = Path(home.path, "output")
        output.unlink()
        getattr(output, kind)(mine)
        home.renew()
        home.make()
        assert mine.read_text() == "mine"
        assert self.is_new(home)

    def test_what_cannot_be_removed_is_left_behind(self, home: CellFolder) -> None:
        first = home.path
        busy = Path(first, "work")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(busy)], check=False, capture_output=True)
        if mounted.returncode != 0:
            pytest.skip("cannot mount a file system here")
        try:
            home.renew()
            home.make()
            assert home.path != first
            assert self.is_new(home)
        finally:
            subprocess.run(["umount", "-l", str(busy)], check=True)


class TestRunFolder:
    @pytest.fixture(autouse=True)
    def base(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def abandon(self, purpose: str = "cells") -> Path:
        folder = RunFolder.create(purpose)
        (folder.path / "cell").mkdir()
        os.close(folder._lock)
        return folder.path

    def age(self, path: Path) -> None:
        os.utime(path, (time.time() - 60,) * 2)

    def test_of_a_killed_run_is_removed_by_the_next(self) -> None:
        old = self.abandon()
        self.age(old)
        new = RunFolder.create()
        assert not old.exists()
        assert new.path.exists()
        new.remove()
        assert not new.path.exists()

    def test_of_any_command(self) -> None:
        old = [self.abandon(purpose) for purpose in ("isolate", "upgrade", "triage")]
        for path in old:
            self.age(path)
        RunFolder.create().remove()
        assert not any(path.exists() for path in old)

    def test_a_file_in_it_does_not_hold_it(self) -> None:
        """What runs there may remove, make or lock any file in it."""
        used = RunFolder.create()
        (used.path / "lock").touch()
        for path in used.path.iterdir():
            path.unlink()
        self.age(used.path)
        RunFolder.create().remove()
        assert used.path.exists()
        with used as path:
            assert path == used.path
        assert not used.path.exists()
        used.remove()

    def test_in_use_stays(self) -> None:
        used = RunFolder.create()
        self.age(used.path)
        RunFolder.create().remove()
        assert used.path.exists()
        used.remove()

    def test_just_made_stays(self) -> None:
        made = self.abandon()
        RunFolder.create().remove()
        assert made.exists()

    def test_link_to_elsewhere_is_not_followed(self, tmp_path: Path) -> None:
        precious = tmp_path / "precious"
        precious.mkdir(mode=0o500)
        link = tmp_path / f"{RunFolder.PREFIX}link"
        link.symlink_to(precious)
        os.utime(link, (0, 0), follow_symlinks=False)
        RunFolder.create().remove()
        assert precious.stat().st_mode & 0o777 == 0o500


class TestMirror:
    """The folder that a cell has written to, as what runs outside gets it."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        (tmp_path / "source" / "a" / "b").mkdir(parents=True)
        (tmp_path / "source" / "a" / "b" / "file").write_text("text")
        (tmp_path / "target").mkdir()
        return tmp_path / "source"

    def texts(self, folder: Path) -> dict[str, str]:
        """Everything in a folder, and the texts of its files."""
        paths = sorted(folder.rglob("*"))
        return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "/" for path in paths}

    def test_is_the_same(self, source: Path) -> None:
        target = source.parent / "target"
        (target / "a").symlink_to(source.parent)
        (target / "gone" / "deep").mkdir(parents=True)
        mirror(source, target)
        assert self.texts(target) == {"a": "/", "a/b": "/", "a/b/file": "text"}
        (source / "a" / "b" / "file").write_text("other")
        (source / "a" / "b").chmod(0)
        mirror(source, target)
        assert self.texts(target) == {"a": "/", "a/b": "/", "a/b/file": "other"}

    def test_has_no_way_out_and_no_end(self, source: Path) -> None:
        (source / "link").symlink_to(source.parent)
        (source / "a" / "to_file").symlink_to(source / "a" / "b" / "file")
        os.mkfifo(source / "pipe")
        with (source / "sparse").open("w") as file:
            file.truncate(1 << 40)
        deep = source
        for _ in range(60):
            deep = deep / "deep"
            deep.mkdir()
        mirror(source, source.parent / "target")
        names = set(self.texts(source.parent / "target"))
        assert {name for name in names if "deep" not in name} == {"a", "a/b", "a/b/file"}
        assert len(names) == 3 + folders.MIRROR_DEPTH

    def test_takes_so_many_files(self, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(20):
            (source / f"file{number}").touch()
        monkeypatch.setattr(folders._Room.__init__, "__defaults__", (folders.MIRROR_BYTES, 10))
        mirror(source, source.parent / "target")
        assert len(self.texts(source.parent / "target")) == 10
