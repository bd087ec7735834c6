"""Where a bug lives: states, intervals, lives and flakiness of a row, from a journal written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pt2bugs.bisect.compare import Change, change_between
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import load_cases, roots_of
from pt2bugs.case.header import parse_case
from pt2bugs.cli import main
from pt2bugs.results.folder import Results
from pt2bugs.results.history import (
    Finding,
    Histories,
    History,
    Interval,
    Life,
    State,
    Transition,
    intervals_of,
    lives_of,
    transitions_of,
)
from seeded import START, write_backend_lines, write_case, write_journal

RELEASES = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")


def histories_of(folder: Path, python: str | None = None, backends: tuple[str, ...] = ()) -> Histories:
    return Results(folder / "results", backends).load(load_cases([folder / "cases"]), pytest.fail, python)


def history_of(folder: Path, letters: str) -> History:
    write_journal(folder, write_case(folder, "pytorch_1"), dict(zip(RELEASES, letters, strict=True)))
    (history,) = histories_of(folder).rows()
    return history


@pytest.mark.parametrize(
    ("letters", "intervals", "specifiers"),
    [
        ("BB..", [Interval("2.8.0", "2.9.1", None, "2.10.0")], ["<2.10"]),
        (".B..", [Interval("2.9.1", "2.9.1", "2.8.0", "2.10.0")], [">=2.9,<2.10"]),
        ("..BB", [Interval("2.10.0", "2.11.0", "2.9.1", None)], [">=2.10"]),
        (
            "B.B.",
            [Interval("2.8.0", "2.8.0", None, "2.9.1"), Interval("2.10.0", "2.10.0", "2.9.1", "2.11.0")],
            ["<2.9", ">=2.10,<2.11"],
        ),
        ("BsB.", [Interval("2.8.0", "2.10.0", None, "2.11.0")], ["<2.11"]),
        ("BBBB", [Interval("2.8.0", "2.11.0")], [""]),
        ("EFs.", [], []),
    ],
)
def test_intervals(tmp_path: Path, letters: str, intervals: list[Interval], specifiers: list[str]) -> None:
    history = history_of(tmp_path, letters)
    assert history.intervals == intervals
    assert [interval.specifier for interval in intervals] == specifiers


def test_a_bound_between_two_patches_is_the_patch() -> None:
    assert Interval("2.9.0", "2.9.0", None, "2.9.1").specifier == "<2.9.1"


def test_states(tmp_path: Path) -> None:
    history = history_of(tmp_path, "BF.s")
    assert history.releases == list(RELEASES)
    assert [history.state(release) for release in RELEASES] == [
        State.BUG,
        State.UNKNOWN,
        State.NO_BUG,
        State.UNKNOWN,
    ]
    assert history.state("2.12.0") is State.UNKNOWN, "never measured"
    assert history.finding("2.12.0") is None
    assert (history.showing(State.BUG), history.showing(State.NO_BUG)) == (["2.8.0"], ["2.10.0"])
    assert [history.findings[release].value for release in RELEASES] == ["xfail:wrong", "fail", "pass", "skip"]
    assert history.transitions == [Transition("2.8.0", "2.10.0", introduced=False, between=("2.9.1",))]


def test_confidence(tmp_path: Path) -> None:
    """Seen in one of two runs: sightings / (runs + 1) is a third, and two clean runs miss it with (2/3) ** 2."""
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1", flaky=True), {"2.9.1": "B.", "2.10.0": ".."})
    (history,) = histories_of(tmp_path).rows()
    assert history.is_flaky
    (transition,) = history.transitions
    assert history.confidence(transition) == pytest.approx(1 - (2 / 3) ** 2)
    assert [(f.runs, f.sightings, f.suffices) for f in history.findings.values()] == [(2, 1, True), (2, 0, False)]


def test_a_steady_check_needs_no_confidence(tmp_path: Path) -> None:
    history = history_of(tmp_path, "BB..")
    assert not history.is_flaky
    assert history.confidence(history.transitions[0]) is None


@pytest.mark.parametrize(
    ("letters", "summary", "since", "until"),
    [
        ("BB..", "2.8.0 to 2.9.1 (2 releases), fixed in 2.10.0", "", "2.10.0"),
        (".BBB", "2.9.1 to 2.11.0 (3 releases), still open", "2.9.1", ""),
        ("B.B.", "2.8.0 to 2.10.0 (2 releases), fixed in 2.11.0", "", "2.11.0"),
        ("....", "not seen in these releases", "", ""),
    ],
)
def test_life(tmp_path: Path, letters: str, summary: str, since: str, until: str) -> None:
    life = Life.of([history_of(tmp_path, letters)])
    assert (life.summary, life.since, life.until, life.newest) == (summary, since, until, "2.11.0")
    assert [life] == lives_of([history_of(tmp_path, letters)])


def test_a_life_is_that_of_all_checks_together(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1", devices=["cpu", "cuda"])
    write_journal(tmp_path, path, {"2.8.0": "B", "2.9.1": ".", "2.10.0": "."})
    rows = histories_of(tmp_path).rows()
    other = History(Cell(rows[0].cell.case, rows[0].cell.check, "cuda", "inductor"), "", _moved(rows[0]))
    life = Life.of([*rows, other])
    assert life.open_in == ["2.8.0", "2.9.1"]
    assert (life.since, life.until, life.is_open) == ("", "2.10.0", False)
    assert life.sentence == (
        "2.8.0 to 2.8.0: there from the first, fixed in 2.9.1; 2.9.1 to 2.9.1: there from the first, fixed in 2.10.0"
    )


def _moved(history: History) -> Mapping[str, Finding]:
    """The findings of a row as if it had been measured from 2.9.1 on."""
    first, second, _ = history.findings.values()
    return {"2.9.1": first, "2.10.0": second}


def test_the_usual_python_with_an_answer_shows(tmp_path: Path) -> None:
    case = parse_case(write_case(tmp_path, "pytorch_1"))
    write_journal(tmp_path, case.path, {"2.9.1": "B"})
    histories = histories_of(tmp_path)
    (record,) = histories.lines().values()
    started = (START + timedelta(days=1)).isoformat()
    for python, outcome, verdict in (("3.12.1", "pass", "xpass"), ("3.13.0", "error", "error")):
        histories.add({**record, "python": python, "outcome": outcome, "verdict": verdict, "started": started})
    cell = next(cells_of(case))
    finding = histories.of(cell).finding("2.9.1")
    assert finding is not None
    assert (finding.record["python"], finding.state) == ("3.12.1", State.NO_BUG)
    assert [other["python"] for other in finding.others] == ["3.11.7", "3.13.0"]
    assert histories.python_of("2.9.1") == "3.12"
    histories.add({**record, "torch": "2.8.0", "started": started})
    finding = histories.of(cell).finding("2.9.1")
    assert finding is not None
    assert finding.record["python"] == "3.11.7", "the usual one: a column beside it changes no answer"
    assert histories.python_of("2.9.1") == "3.11"
    chosen = Histories([case], "3.11")
    for line in (record, finding.record):
        chosen.add(line)
    assert chosen.of(cell).state("2.9.1") is State.BUG


def test_a_case_without_a_file_is_an_orphan(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, path, {"2.9.1": "B"})
    path.unlink()
    write_journal(tmp_path, write_case(tmp_path, "pytorch_2"), {"2.9.1": "B"})
    histories = histories_of(tmp_path)
    assert histories.orphans == {"pytorch_1"}
    assert {key.case for key in histories.lines()} == {"pytorch_2"}
    assert [row.cell.case.id for row in histories.rows()] == ["pytorch_2"]


def test_what_needs_more_than_torch_is_not_its_own(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, path, {"2.13.0": "B"})
    write_backend_lines(tmp_path, path.parent, "openvino", {"pytorch_1": "F"}, "openvino==2026.4")
    rows = histories_of(tmp_path, backends=("openvino",)).rows()
    assert [(row.cell.backend, row.extras, row.is_own) for row in rows] == [
        ("inductor", "", True),
        ("openvino", "openvino==2026.4", False),
    ]


def test_what_a_header_names_is_the_corpus_s_own_with_the_packages_of_its_backend(tmp_path: Path) -> None:
    path = write_case(tmp_path, "mine_1", backends=["mine", "inductor"], bugs=[])
    case = parse_case(path)
    write_backend_lines(tmp_path, path.parent, "mine", {"mine_1": "."}, "mine==1.0")
    write_backend_lines(tmp_path, path.parent, "inductor", {"mine_1": "."}, "mine==1.0")
    rows = histories_of(tmp_path, backends=("mine", "inductor")).rows()
    assert {row.cell.backend: row.is_own for row in rows} == {"mine": True, "inductor": False}
    results = Results(tmp_path / "results")
    kept = {row.cell.backend: results.journal_folder_of(next(iter(row.findings.values())).record, case) for row in rows}
    # Torch's own backend beside a package is a reference, whatever the header names.
    assert kept == {
        "mine": tmp_path / "results" / "journal",
        "inductor": tmp_path / "results" / "backends" / "inductor" / "journal",
    }


def test_own_rows_are_those_that_compare_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a page counts by `is_own` is what the command line says, whatever else lies in the results."""
    monkeypatch.chdir(tmp_path)
    for number, letters in enumerate(["B.", ".B", "BB", "..", "F."]):
        write_journal(
            tmp_path, write_case(tmp_path, f"pytorch_{number}"), dict(zip(("2.9.1", "2.10.0"), letters, strict=True))
        )
    path = write_case(tmp_path, "turbine_1", extra="turbine")
    write_journal(tmp_path, path, {"2.9.1": "B", "2.10.0": "."})
    journal = tmp_path / "results" / "journal" / "turbine_1.jsonl"
    journal.write_text(journal.read_text().replace('"extras": []', '"extras": ["turbine"]'))
    gone = write_case(tmp_path, "pytorch_9")
    write_journal(tmp_path, gone, {"2.9.1": ".", "2.10.0": "B"})
    gone.unlink()
    main(["compare", "2.9.1", "2.10", "--offline", "--json"])
    told = {(change["case"], change["change"]) for change in json.loads(capsys.readouterr().out)["changes"]}
    rows = [row for row in histories_of(tmp_path).rows() if row.is_own]
    assert {(row.cell.case.id, str(_change(row))) for row in rows} == told
    assert len(rows) == 5


def _change(row: History) -> Change:
    return change_between(row.finding("2.9.1"), row.finding("2.10.0"))


states = st.dictionaries(st.integers(0, 15), st.sampled_from(list(State)))


@given(states)
def test_intervals_and_transitions_agree(known: dict[int, State]) -> None:
    versions = range(16)
    transitions = transitions_of(versions, known)
    decided = [version for version in versions if known.get(version, State.UNKNOWN) is not State.UNKNOWN]
    names = {f"2.{version}": known[version] for version in decided}
    intervals = intervals_of(list(names), lambda release: names[release] is State.BUG)
    assert [f"2.{span.after}" for span in transitions if span.introduced] == [
        span.first for span in intervals if span.introduced_after
    ]
    assert [f"2.{span.after}" for span in transitions if not span.introduced] == [
        span.fixed_in for span in intervals if span.fixed_in
    ]


def test_roots(tmp_path: Path) -> None:
    for name, same_fix in (("a_1", ""), ("b_2", "a_1"), ("c_3", "b_2"), ("d_4", "e_5"), ("e_5", "d_4")):
        write_case(tmp_path, name, **({"same-fix": same_fix} if same_fix else {}))
    roots = roots_of(load_cases([tmp_path / "cases"]))
    assert roots == {"a_1": "a_1", "b_2": "a_1", "c_3": "a_1", "d_4": "d_4", "e_5": "d_4"}
