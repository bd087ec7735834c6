"""Tables from journal lines: the newest countable line, today's expectations, no stale program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from packaging.specifiers import SpecifierSet
from pt2bugs.case.model import Bug, Case, Check
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.results.folder import Results
from pt2bugs.results.history import Histories
from pt2bugs.results.journal import KEYS, LATER_KEYS, JournalWriter, Record
from pt2bugs.results.line import CellKey
from pt2bugs.results.tables import CELL_COLUMNS, cells_table, csv_text, matrix_table

CASE = Case(
    id="pytorch_1",
    path=Path("pytorch_1.py"),
    issue="https://github.com/pytorch/pytorch/issues/1",
    title="t",
    component="dynamo",
    symptom="crash",
    checks=(Check("test_a", (), 1),),
    hash="h1",
    bugs=(Bug(Outcome.WRONG, SpecifierSet("<2.10"), error="AssertionError"),),
)


def newest(records: Iterable[Record], cases: dict[str, Case]) -> dict[CellKey, Record]:
    histories = Histories(cases.values())
    for record in records:
        histories.add(record)
    return histories.lines()


def line(**changes: Any) -> Any:
    record: dict[str, Any] = {**dict.fromkeys(KEYS, ""), **dict.fromkeys(LATER_KEYS)}
    record.update(
        schema=1, run_id="r", started="2026-01-01T00:00:00.000Z", case="pytorch_1", check="test_a", case_hash="h1",
        torch="2.9.1+cu128", python="3.11.7", device="cpu", backend="inductor", extras=[], repeat=1, repeats=1,
        outcome="wrong", verdict="xfail", error_type="AssertionError", graphs=1, exit_status=0, duration_s=0.1,
        peak_rss_mb=1.0,
    )  # fmt: skip
    record.update(changes)
    return record


def matrix(*lines: Record, case: Case = CASE) -> pd.DataFrame:
    return matrix_table(cells_table(newest(lines, {case.id: case})), [case])


def value(*lines: Record, torch: str = "2.9.1") -> str:
    return str(matrix(*lines)[torch].item())


def test_columns_and_order() -> None:
    table = matrix(line(torch="2.10.0", outcome="pass"), line(), line(torch="2.9.0", device="cuda"))
    assert list(table.columns) == ["case", "check", "component", "symptom", "device", "backend", "extras",
                                   "2.9.0", "2.9.1", "2.10.0"]  # fmt: skip
    assert table.to_numpy().tolist() == [
        ["pytorch_1", "test_a", "dynamo", "crash", "cpu", "inductor", "", "", "xfail:wrong", "pass"],
        ["pytorch_1", "test_a", "dynamo", "crash", "cuda", "inductor", "", "xfail:wrong", "", ""],
    ]


def test_the_newest_line_counts() -> None:
    later = line(started="2026-01-02T00:00:00.000Z", outcome="crash", signal="SIGSEGV", error_type="")
    assert value(later, line()) == "fail"
    assert value(line(), later) == "fail"


def test_an_error_counts_only_while_there_is_nothing_better() -> None:
    error = line(started="2026-01-02T00:00:00.000Z", outcome="error", verdict="error")
    assert value(error) == "error"
    assert value(line(), error) == "xfail:wrong"
    assert value(error, line()) == "xfail:wrong"


def test_a_series_of_repeats_that_was_cut_off_does_not_count() -> None:
    cut = line(started="2026-01-02T00:00:00.000Z", outcome="pass", verdict="xpass", repeat=1, repeats=3)
    assert value(line(), cut) == "xfail:wrong"


def test_a_stale_line_is_left_out() -> None:
    assert newest([line(case_hash="h0")], {CASE.id: CASE}) == {}


def test_a_requirement_that_comes_later_keeps_the_lines_of_the_releases_it_names() -> None:
    settings = {"hash": "h2", "unrestricted_hash": "h1", "requires_torch": SpecifierSet(">=2.2")}
    histories = Histories([Case(**{**CASE.__dict__, **settings})])
    for torch in ("2.1.2+cpu", "2.2.2+cpu"):
        histories.add(line(torch=torch))
    histories.add(line(torch="2.3.1+cpu", case_hash="h0"))
    assert [key.torch for key in histories.lines()] == ["2.2.2"]
    assert {key.torch for key in histories.stale} == {"2.3.1"}, "what is ruled out is not asked for again"


def test_a_case_without_a_file_has_no_row() -> None:
    assert newest([line(case="private_1", verdict="fail")], {CASE.id: CASE}) == {}


def test_verdicts_follow_the_header_of_today() -> None:
    other = Case(**{**CASE.__dict__, "bugs": ()})
    assert matrix(line(), case=other)["2.9.1"].item() == "fail"


def test_flaky_stays_flaky() -> None:
    assert value(line(outcome="pass", verdict="flaky", repeat=3, repeats=3)) == "flaky"


def test_extras_and_pythons_are_cells_of_their_own() -> None:
    lines = [line(), line(extras=["turbine"], outcome="pass"), line(python="3.12.1", outcome="pass")]
    cells = cells_table(newest(lines, {CASE.id: CASE}))
    assert cells[["extras", "python", "verdict"]].to_numpy().tolist() == [
        ["", "3.11.7", "xfail"],
        ["", "3.12.1", "xpass"],
        ["turbine", "3.11.7", "xpass"],
    ]
    assert list(matrix_table(cells, [CASE])["2.9.1"]) == ["xfail:wrong", "xpass"], "the usual Python shows"
    cells = cells_table(newest([*lines[::2], line(torch="2.8.0", python="3.12.1")], {CASE.id: CASE}))
    assert list(matrix_table(cells, [CASE])["2.9.1"]) == ["xpass"]
    cells = cells_table(newest(lines[::2], {CASE.id: CASE}))
    assert list(matrix_table(cells, [CASE])["2.9.1"]) == ["xpass"], "of two alike the newer"


def test_an_error_on_a_newer_python_does_not_hide_an_answer() -> None:
    error = line(python="3.12.1", outcome="error", verdict="error")
    assert value(line(), error) == "xfail:wrong"


def test_no_text_starts_a_formula_in_a_spreadsheet() -> None:
    table = cells_table(newest([line(message="=1+1"), line(torch="2.8.0", message="+x")], {CASE.id: CASE}))
    assert csv_text(table).count("'=1+1") == 1
    assert csv_text(table).count("'+x") == 1


def test_derived_files(tmp_path: Path) -> None:
    results = Results(tmp_path)
    writer = JournalWriter(results.journal_folder / "a.jsonl")
    writer.append(line(message='a "quoted", message\nin two lines'))
    writer.append(line(torch="2.10.0", outcome="pass", message="", graphs=None))
    writer.close()
    results.derive(results.load([CASE], pytest.fail))
    cells = pd.read_csv(tmp_path / "cells.csv", keep_default_na=False)
    assert list(cells.columns) == CELL_COLUMNS
    assert list(cells["torch"].astype(str)) == ["2.9.1", "2.10.0"]
    assert cells["message"][0] == 'a "quoted", message\nin two lines'
    table = pd.read_csv(tmp_path / "matrix.csv", keep_default_na=False)
    assert list(table.columns[7:]) == ["2.9.1", "2.10.0"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["cells.csv", "journal", "matrix.csv"]
    before = (tmp_path / "cells.csv").read_bytes()
    results.derive(results.load([CASE], pytest.fail))
    assert (tmp_path / "cells.csv").read_bytes() == before


def test_journals_are_merged_by_putting_them_side_by_side(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.journal_folder.mkdir()
    for name, torch in (("b", "2.9.1"), ("a", "2.8.0")):
        (results.journal_folder / f"{name}.jsonl").write_text(json.dumps(line(torch=torch)) + "\n")
    assert {key.torch for key in results.load([CASE], pytest.fail).lines()} == {"2.9.1", "2.8.0"}


def test_an_empty_folder(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.derive(results.load([CASE], pytest.fail))
    assert (tmp_path / "cells.csv").read_text() == ",".join(CELL_COLUMNS) + "\n"
    assert (tmp_path / "matrix.csv").read_text() == "case,check,component,symptom,device,backend,extras\n"
