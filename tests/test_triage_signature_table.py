"""`signatures.json`: the same answers as the journal gives, used only while cases and journal are what they were."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from known_bugs import UNSUPPORTED, write_known_bugs
from pt2bugs.case.corpus import find_case_files, load_cases
from pt2bugs.cli import main
from pt2bugs.results.journal import journal_files, read_journal
from pt2bugs.results.matrix import Results
from pt2bugs.triage import answer
from pt2bugs.triage.answer import KnownBugs
from pt2bugs.triage.signature_table import digest, read_table, table_path
from pt2bugs.triage.signatures import Signatures

ROOT = Path(__file__).resolve().parent.parent
TEXT = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f(x)\n'
    f"{UNSUPPORTED}: call torch._frobnicate_left_aligned_mask returned a bool\n"
)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus, its journal and the table of both, made the current one."""
    folder = tmp_path / "here"
    folder.mkdir()
    write_known_bugs(folder)
    monkeypatch.chdir(folder)
    assert main(["match", "--update-signatures"]) == 0
    return folder


def table_of(results: Path, cases: Path) -> Signatures | None:
    files = list(find_case_files([cases]))
    of = digest([cases], files, journal_files(results / "journal"))
    return read_table(table_path(results), of, [cases], files)


def told(signatures: Signatures) -> dict[str, Any]:
    return {
        id_: (known.path, known.group, list(known.entries), known.signatures) for id_, known in signatures.bugs.items()
    }


def judged(results: Path, cases: Path) -> Signatures:
    return Signatures(load_cases([cases]), read_journal(journal_files(results / "journal"), pytest.fail))


def test_it_says_what_the_journal_says(corpus: Path) -> None:
    results, cases = corpus / "results", corpus / "cases"
    table = table_of(results, cases)
    assert table is not None
    assert any(known.signatures for known in table.bugs.values())
    assert told(table) == told(judged(results, cases))


def test_the_committed_one_is_up_to_date() -> None:
    table = table_of(ROOT / "results", ROOT / "cases")
    assert table is not None, "cases or journal have changed: run `pt2bugs match --update-signatures`"
    assert told(table) == told(judged(ROOT / "results", ROOT / "cases"))


def test_answers_come_from_it(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the table is there")

    expected = KnownBugs(judged(Path("results"), Path("cases"))).recognize(TEXT)
    monkeypatch.setattr(answer, "load_cases", fail)
    (one,) = KnownBugs.load(Results(Path("results")), [Path("cases")], pytest.fail).recognize(TEXT)
    assert one.is_known
    assert [(m.case.id, m.kind, m.score, m.why) for m in one.matches] == [
        (m.case.id, m.kind, m.score, m.why) for m in expected[0].matches
    ]


def test_another_place_is_the_same_corpus(corpus: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    shutil.copytree(corpus, there)
    table = table_of(there / "results", there / "cases")
    assert table is not None
    assert all(known.path.is_relative_to(there) for known in table.bugs.values())


def _edit_a_case(corpus: Path) -> None:
    path = next((corpus / "cases").rglob("pytorch_1.py"))
    path.write_text(path.read_text().replace("_frobnicate_", "_other_"))


def _lose_a_line(corpus: Path) -> None:
    path = journal_files(corpus / "results" / "journal")[0]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def _rename_a_case(corpus: Path) -> None:
    path = next((corpus / "cases").rglob("pytorch_1.py"))
    path.rename(path.with_name("pytorch_99.py"))


@pytest.mark.parametrize("change", [_edit_a_case, _lose_a_line, _rename_a_case])
def test_it_is_not_used_after_a_change(corpus: Path, change: Callable[[Path], None]) -> None:
    change(corpus)
    assert table_of(corpus / "results", corpus / "cases") is None


def test_an_edited_case_answers_by_its_new_entry(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.txt").write_text(TEXT)
    assert main(["match", "log.txt"]) == 0
    _edit_a_case(corpus)
    assert main(["match", "log.txt"]) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("cut", [0, 1, 90, 400])
def test_a_torn_one_is_not_used(corpus: Path, cut: int) -> None:
    path = table_path(corpus / "results")
    path.write_bytes(path.read_bytes()[:cut])
    assert table_of(corpus / "results", corpus / "cases") is None
    Path("log.txt").write_text(TEXT)
    assert main(["match", "log.txt"]) == 0


@pytest.mark.parametrize("old", ['"outcome":"raise"', '"torch":"'])
def test_one_with_other_words_is_not_used(corpus: Path, old: str) -> None:
    path = table_path(corpus / "results")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, '"outcome":"sings"' if "outcome" in old else '"torch":"of old, '))
    assert table_of(corpus / "results", corpus / "cases") is None


def test_a_journal_with_a_torn_line_has_none(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = table_path(corpus / "results").read_bytes()
    path = journal_files(corpus / "results" / "journal")[0]
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "case"\n')
    assert main(["match", "--update-signatures"]) == 2
    assert "not written: lines of the journal are left out" in capsys.readouterr().err
    assert table_path(corpus / "results").read_bytes() == before
