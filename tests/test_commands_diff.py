"""`pt2bugs diff`: two results folders, cell by cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pt2bugs.case.vocabulary import COUNTED
from pt2bugs.cli import main
from seeded import write_case, write_journal


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two results folders, `a` and `b`, of two cases on two releases."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "other"):
        path = write_case(tmp_path, f"pytorch_{name}")
        for where in ("a", "b"):
            write_journal(tmp_path / where, path, {"2.9.1": "B", "2.13.0": "."})
    return tmp_path


def diff(*arguments: str) -> int:
    return main(["diff", "a/results", "b/results", *arguments])


def test_equal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("--exact") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "4 of 4 cells are equal in every column, 0 differ" in err


def test_the_words_that_are_counted_are_tied_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diff()
    assert capsys.readouterr().err.endswith(f" ({COUNTED})\n")


def test_another_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_journal(folder / "b", folder / "cases" / "dynamo" / "pytorch_one.py", {"2.13.0": "F"})
    (folder / "b" / "results" / "journal" / "pytorch_other.jsonl").unlink()
    assert diff() == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "torch 2.13.0 pytorch_one::test_it[cpu-inductor]: verdict pass -> fail",
        "torch 2.9.1 pytorch_other::test_it[cpu-inductor]: verdict xfail -> not measured",
        "torch 2.13.0 pytorch_other::test_it[cpu-inductor]: verdict pass -> not measured",
    ]
    assert "1 of 2 verdicts are equal, 1 differ (0 as the header says), 2 are in one folder only" in err
    assert diff("pytorch_one", "--json") == 1
    (difference,) = json.loads(capsys.readouterr().out)
    assert (difference["case"], difference["torch"]) == ("pytorch_one", "2.13.0")
    assert difference["differs"] == {"verdict": ["pass", "fail"]}


def test_a_release_that_one_did_not_run_is_no_difference(folder: Path) -> None:
    write_journal(folder / "b", folder / "cases" / "dynamo" / "pytorch_one.py", {"2.15.0": "B"})
    assert diff() == 0


def test_the_same_verdict_in_other_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for journal in (folder / "b" / "results" / "journal").iterdir():
        journal.write_text(journal.read_text().replace("Tensor-likes are not close!", "Tensors are not close!"))
    assert diff() == 0
    capsys.readouterr()
    assert diff("--exact", "pytorch_one") == 1
    out = capsys.readouterr().out
    assert "message Tensor-likes are not close! -> Tensors are not close!" in out


def test_a_flaky_case_may_differ(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_case(folder, "pytorch_one", flaky=True)
    write_journal(folder / "b", path, {"2.9.1": "."})
    assert diff() == 0
    out, err = capsys.readouterr()
    assert "verdict xfail -> flaky  (the case says that it is flaky)" in out
    assert "1 differ (1 as the header says)" in err


def test_folders_without_a_common_cell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "none").mkdir()
    assert main(["diff", "a/results", "none"]) == 3
    assert main(["diff", "a/results", "nowhere"]) == 2
    assert "nowhere: there is no such results folder" in capsys.readouterr().err
