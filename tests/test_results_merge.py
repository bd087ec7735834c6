"""Journals of several machines together: every line once, none lost, none changed, and what is odd is said."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pt2bugs.cli import main
from seeded import START, write_case, write_journal

LATER = START + timedelta(days=1)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result here, and two machines that measured one more case or release each."""
    monkeypatch.chdir(tmp_path)
    first, two = (write_case(tmp_path, name) for name in ("pytorch_1", "pytorch_2"))
    write_journal(tmp_path, first, {"2.9.1": "B"})
    for machine in ("m1", "m2"):
        write_journal(tmp_path, first, {"2.9.1": "B"}, results=machine)
    write_journal(tmp_path, first, {"2.10.0": "."}, results="m1", start=LATER, run_id="r1")
    write_journal(tmp_path, two, {"2.10.0": "."}, results="m2", start=LATER, run_id="r2")
    return tmp_path


def lines(folder: str) -> list[str]:
    return [line for path in sorted(Path(folder).rglob("*.jsonl")) for line in path.read_text().splitlines()]


def merged(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[dict[str, object], str]:
    assert main(["merge", *arguments, "-o", "results", "--json"]) == status
    told = capsys.readouterr()
    return json.loads(told.out), told.err


def test_every_line_once_and_the_tables_anew(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = lines("results")
    told, said = merged(capsys, "m1", "m2")
    assert (told["read"], told["added"], told["duplicates"]) == (4, 2, 2)
    assert "results: 4 lines read, 2 added, 2 were there" in said
    assert set(lines("results")) == {*before, *lines("m1"), *lines("m2")}
    assert (project / "results/journal/pytorch_1.jsonl").read_text().splitlines()[0] == before[0]
    assert "pytorch_2,test_it,cpu,inductor,,2.10.0" in (project / "results/cells.csv").read_text()
    assert "2.9.1,2.10.0" in (project / "results/matrix.csv").read_text().splitlines()[0]
    whole = {path: path.read_bytes() for path in Path("results").rglob("*.*")}
    again, _ = merged(capsys, "m1", "m2", "results")
    assert again["added"] == 0
    assert {path: path.read_bytes() for path in Path("results").rglob("*.*")} == whole


def test_a_folder_of_artifacts_and_a_single_journal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "artifacts").mkdir()
    for machine in ("m1", "m2"):
        (project / machine).rename(project / "artifacts" / machine)
    wanted = set(lines("artifacts"))
    loose = project / "out.jsonl"
    loose.write_text("".join(f"{line}\n" for line in sorted(wanted)))
    told, _ = merged(capsys, "out.jsonl")
    assert told["added"] == 2
    assert sorted(path.name for path in Path("results/journal").iterdir()) == ["out.jsonl", "pytorch_1.jsonl"]
    assert merged(capsys, "artifacts")[0]["added"] == 0
    assert set(lines("results")) == wanted


def test_order_of_keys_makes_no_other_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "m1/journal/pytorch_1.jsonl"
    path.write_text("".join(json.dumps(json.loads(line), sort_keys=True) + "\n" for line in lines("m1")))
    assert merged(capsys, "m1")[0]["duplicates"] == 1


def test_other_answers_are_told_and_kept(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = project / "cases/dynamo/pytorch_1.py"
    write_journal(project, case, {"2.10.0": "F"}, results="m2", start=LATER + timedelta(hours=1), run_id="r3")
    told, said = merged(capsys, "m1", "m2")
    assert told["disagreements"] == [
        "pytorch_1::test_it[cpu-inductor] on torch 2.10.0: pass (run r1, m1); crash SIGSEGV (run r3, m2); "
        "the last one counts"
    ]
    assert "answers differ: pytorch_1::test_it" in said
    assert told["added"] == 3


def test_lines_of_one_run_that_differ_are_a_conflict_and_kept(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "m2/journal/pytorch_1.jsonl"
    path.write_text(path.read_text().replace('"duration_s": 0.0', '"duration_s": 9.0'))
    told, said = merged(capsys, "m2", status=1)
    assert "another line of run seeded for pytorch_1::test_it on torch 2.9.1+cpu" in str(told["conflicts"])
    assert "both are kept" in said
    assert told["added"] == 2


def test_damaged_lines_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "m2/journal/pytorch_2.jsonl"
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "run_')
    told, said = merged(capsys, "m2")
    assert told["dropped"] == ["m2/journal/pytorch_2.jsonl:2: dropped a torn line"]
    assert "1 damaged and left out" in said
    here = project / "results/journal/pytorch_1.jsonl"
    here.write_bytes(here.read_bytes() + b'{"torn')
    merged(capsys, "m1")
    assert b'{"torn\n{' in here.read_bytes(), "what is here stays as it is, and apart from the new lines"


def test_a_newer_schema_stops_it_before_anything_is_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "m2/journal/pytorch_2.jsonl"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 99'))
    before = {path: path.read_bytes() for path in Path("results").rglob("*.*")}
    assert main(["merge", "m1", "m2", "-o", "results"]) == 2
    assert "m2/journal/pytorch_2.jsonl:1: journal schema 99 is newer than" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("results").rglob("*.*")} == before


def test_a_backend_of_its_own_stays_apart(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = project / "m2/journal/pytorch_2.jsonl"
    own = project / "m2/backends/mine/journal/pytorch_2.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text(source.read_text().replace('"backend": "inductor"', '"backend": "mine"'))
    assert merged(capsys, "m2")[0]["added"] == 2
    assert "pytorch_2,test_it,cpu,mine" in (project / "results/backends/mine/cells.csv").read_text()
    assert "mine" not in (project / "results/cells.csv").read_text()


def test_nothing_to_merge(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "empty").mkdir()
    assert main(["merge", "empty", "-o", "results"]) == 3
    assert "nothing to merge: there is no journal (*.jsonl) in empty" in capsys.readouterr().err
    assert main(["merge", "elsewhere", "-o", "results"]) == 2
    assert "elsewhere: there is no such file or folder" in capsys.readouterr().err
    assert main(["merge", "empty", "m1", "-o", "new"]) == 0
    assert "empty: has no journal" in capsys.readouterr().err
