"""What is kept in the user's cache: used while the files are the same, and never otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pt2bugs import remembered
from pt2bugs.commands.selection import load_corpus


class Reader:
    """Works out the text of all files, and counts how often it had to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made, self.may_be_kept = folder, 0, True

    def make(self) -> tuple[str, bool]:
        self.made += 1
        return "".join(path.read_text() for path in self.files), self.may_be_kept

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.py"))

    def read(self) -> str:
        return remembered.remembered("texts", [self.folder], self.files, self.make)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(remembered, "WORTH_S", 0.0)
    return tmp_path / "home"


@pytest.fixture
def reader(tmp_path: Path, home: Path) -> Reader:
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "a.py").write_text("a")
    (folder / "b.py").write_text("b")
    return Reader(folder)


def test_the_same_files_are_read_once(reader: Reader) -> None:
    assert [reader.read(), reader.read()] == ["ab", "ab"]
    assert reader.made == 1


def test_every_change_is_seen(reader: Reader) -> None:
    assert reader.read() == "ab"
    (reader.folder / "a.py").write_text("c")
    assert reader.read() == "cb"
    (reader.folder / "d.py").write_text("d")
    assert reader.read() == "cbd"
    (reader.folder / "b.py").rename(reader.folder / "e.py")
    assert reader.read() == "cdb"
    (reader.folder / "e.py").unlink()
    assert reader.read() == "cd"


def test_a_file_that_changes_while_it_is_read_is_not_kept(reader: Reader) -> None:
    def make() -> tuple[str, bool]:
        (reader.folder / "a.py").write_text("late")
        return "early", True

    assert remembered.remembered("texts", [reader.folder], reader.files, make) == "early"
    (reader.folder / "a.py").write_text("a")
    assert reader.read() == "ab"


def test_an_answer_with_warnings_is_not_kept(reader: Reader) -> None:
    reader.may_be_kept = False
    assert [reader.read(), reader.read()] == ["ab", "ab"]
    assert reader.made == 2


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: b"", lambda data: data[:32] + b"no pickle"])
def test_a_torn_file_is_read_anew(reader: Reader, home: Path, damage: Callable[[bytes], bytes]) -> None:
    reader.read()
    (kept,) = (home / "remembered").iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    assert [reader.read(), reader.read()] == ["ab", "ab"]
    assert reader.made == 2


def test_what_others_may_have_written_is_not_read(reader: Reader, home: Path) -> None:
    reader.read()
    (kept,) = (home / "remembered").iterdir()
    kept.chmod(0o666)
    assert reader.read() == "ab"
    assert reader.made == 2


def test_a_home_that_cannot_be_written(reader: Reader, home: Path) -> None:
    home.write_text("a file where the folder would be")
    assert [reader.read(), reader.read()] == ["ab", "ab"]
    assert reader.made == 2


def test_few_files_are_kept(reader: Reader, home: Path) -> None:
    for number in range(remembered.MOST + 5):
        remembered.remembered(f"texts{number}", [reader.folder], reader.files, reader.make)
    assert len(list((home / "remembered").iterdir())) == remembered.MOST


def test_the_corpus_is_the_same_from_the_cache(home: Path) -> None:
    cases = Path(__file__).resolve().parent.parent / "cases" / "functionalization"
    assert load_corpus([cases]) == load_corpus([cases])
    assert list((home / "remembered").iterdir())
