"""`pt2bugs thin`: nightlies between changes go, and no answer about a release or a change does."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pt2bugs.case.corpus import load_cases
from pt2bugs.cli import main
from pt2bugs.results.folder import Results
from pt2bugs.results.history import Histories, appearance
from pt2bugs.results.thinning import thin
from seeded import BUG, write_backend_lines, write_case, write_journal

NIGHTLIES = [f"2.11.0.dev202601{day:02}" for day in range(1, 11)]
RELEASES = ["2.9.1", "2.10.0", *NIGHTLIES, "2.11.0"]
LATER = date(2026, 6, 1)
EVERYWHERE = {key: value for key, value in BUG.items() if key != "torch"}


def histories(folder: Path) -> Histories:
    return Results(folder / "results").load(load_cases([folder / "cases"]), print)


def answers(folder: Path) -> list[object]:
    """What is asked of a journal: the changes of each check, with what was seen on both sides, and the releases."""
    told: list[object] = []
    for row in histories(folder).rows():
        for change in row.transitions:
            told.append((row.row, change.before, change.after, change.introduced))
            told += [appearance(row.findings[side].record) for side in (change.before, change.after)]
        told += [(release, row.findings[release].value) for release in ("2.9.1", "2.10.0", "2.11.0")]
    return told


def releases_of(folder: Path) -> list[str]:
    (row,) = histories(folder).rows()
    return row.releases


@settings(max_examples=60)
@given(st.lists(st.sampled_from(".BFE"), min_size=len(RELEASES), max_size=len(RELEASES)))
def test_every_change_stays_between_the_same_releases(letters: list[str]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_journal(folder, write_case(folder, "pytorch_1"), dict(zip(RELEASES, letters, strict=True)))
        before = answers(folder)
        thin(folder / "results", histories(folder), LATER, print)
        assert answers(folder) == before
        assert thin(folder / "results", histories(folder), LATER, print).lines == 0


def test_the_ends_of_a_stretch_stay(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1", bugs=[EVERYWHERE])
    write_journal(tmp_path, path, dict(zip(RELEASES, "BB" + "BBBB......" + ".", strict=True)))
    done = thin(tmp_path / "results", histories(tmp_path), LATER, print)
    assert (done.lines, done.nightlies) == (8, 8)
    assert releases_of(tmp_path) == ["2.9.1", "2.10.0", NIGHTLIES[3], NIGHTLIES[4], "2.11.0"]  # releases always stay


def test_what_is_young_or_flaky_stays(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1", bugs=[EVERYWHERE])
    write_journal(tmp_path, path, dict.fromkeys(RELEASES, "B"))
    thin(tmp_path / "results", histories(tmp_path), date(2026, 1, 8), print)
    assert releases_of(tmp_path) == ["2.9.1", "2.10.0", *NIGHTLIES[7:], "2.11.0"]
    write_case(tmp_path, "pytorch_1", bugs=[EVERYWHERE], flaky=True)
    assert thin(tmp_path / "results", histories(tmp_path), LATER, print).lines == 0


def test_a_python_that_shows_something_else_keeps_the_whole_release(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1", bugs=[EVERYWHERE])
    write_journal(tmp_path, path, dict.fromkeys(RELEASES, "B"))
    write_journal(tmp_path, path, {NIGHTLIES[4]: "."}, python="3.10.1", results="other")
    journal = tmp_path / "results/journal/pytorch_1.jsonl"
    journal.write_text(journal.read_text() + (tmp_path / "other/journal/pytorch_1.jsonl").read_text())
    thin(tmp_path / "results", histories(tmp_path), LATER, print)
    assert releases_of(tmp_path) == ["2.9.1", "2.10.0", *NIGHTLIES[3:6], "2.11.0"]


def test_other_lines_stay_as_they_are_and_empty_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_case(tmp_path, "pytorch_1", bugs=[EVERYWHERE])
    for release in RELEASES:
        write_journal(tmp_path, path, {release: "B"}, results=release)
        lines = (tmp_path / release / "journal/pytorch_1.jsonl").read_text()
        kept = tmp_path / f"results/journal/torch-{release}-py3.11.jsonl"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(lines)
    with (tmp_path / "results/journal" / f"torch-{NIGHTLIES[0]}-py3.11.jsonl").open("a") as file:
        file.write('{"schema": 2, "kin')
    mixed = tmp_path / f"results/journal/torch-{NIGHTLIES[3]}-py3.11.jsonl"
    of_another_case = mixed.read_text().replace('"pytorch_1"', '"gone"')
    run = json.dumps({"schema": 2, "kind": "run", "run_id": "r", "torch": NIGHTLIES[3]}) + "\n"
    mixed.write_text(run + mixed.read_text() + of_another_case + "torn\n")
    write_backend_lines(tmp_path, tmp_path / "cases", "mine", {"pytorch_1": "B"}, torch=NIGHTLIES[3])

    there = sorted(file.name for file in mixed.parent.iterdir())
    assert main(["thin", "--dry-run"]) == 0
    assert "10 lines of 10 nightlies would go" in capsys.readouterr().err
    assert sorted(file.name for file in mixed.parent.iterdir()) == there
    assert main(["thin", "--older-than", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["lines"], told["nightlies"]) == (10, 10)
    assert mixed.read_text() == run + of_another_case + "torn\n"
    assert sorted(file.name for file in mixed.parent.iterdir()) == [
        "torch-2.10.0-py3.11.jsonl", "torch-2.11.0-py3.11.jsonl", mixed.name, "torch-2.9.1-py3.11.jsonl",
    ]  # fmt: skip
    assert "2.11.0.dev" not in (tmp_path / "results/matrix.csv").read_text()
    assert len(list((tmp_path / "results/backends/mine/journal").iterdir())) == 1
    assert main(["thin"]) == 0
    assert "no line of a nightly older than 30 days goes" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["thin", "--older-than", "soon"])


def test_a_folder_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_case(tmp_path, "pytorch_1")
    assert main(["thin", "--results", "absent"]) == 3
    assert capsys.readouterr().err == "pt2bugs: nothing to thin: absent has no journal\n"
    assert not Path("absent").exists()
