"""Schema 2: the facts of a run stand once, in a line of their own; every reader gets whole records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pt2bugs.cli import main
from pt2bugs.results.journal import (
    FULL,
    KEYS,
    LARGE_JOURNALS,
    RUN_KEYS,
    SCHEMA,
    JournalError,
    JournalWriter,
    Record,
    as_line,
    is_large,
    read_journal,
)
from seeded import write_case, write_journal
from test_results_journal import read, record

FACTS: dict[str, Any] = {
    "torch": "2.13.0+cpu", "torch_git": "a" * 40, "python": "3.11.7", "platform": "Linux-6.1-x86_64", "device": "cpu",
    "device_name": "A processor", "cpu_capability": "AVX2", "backend": "inductor", "extras": ["turbine"],
    "harness": "0.2.0",
}  # fmt: skip


def line(case: str, run: str = "one", **values: Any) -> Record:
    return record(**{"schema": FULL, "run_id": run, "case": case, **FACTS, **values})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def write(path: Path, *records: Record) -> None:
    journal = JournalWriter(path, shares_facts=True)
    for whole in records:
        journal.append(whole)
    journal.close()


def written_to(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


def test_the_facts_stand_once(path: Path) -> None:
    records = [line("a"), line("b", frames=["torch/a.py:1 f"]), line("c")]
    write(path, *records)
    run, *cells = written_to(path)
    assert run == {"schema": 2, "kind": "run", "run_id": "one", **FACTS}
    assert [cell["case"] for cell in cells] == ["a", "b", "c"]
    assert all(cell["run_id"] == "one" and not set(cell) & set(RUN_KEYS) for cell in cells)
    assert read(path) == (records, [])


def test_small_folders_keep_whole_lines(tmp_path: Path) -> None:
    assert not is_large(tmp_path / "none")
    own, backends = tmp_path / "journal", tmp_path / "backends" / "ours" / "journal"
    for folder in (own, backends):
        folder.mkdir(parents=True)
    (own / "run.jsonl").write_bytes(b"x" * LARGE_JOURNALS)
    assert not is_large(tmp_path)
    (backends / "run.jsonl").write_bytes(b"x")
    assert is_large(tmp_path)


def test_records_that_were_read_are_whole_lines(path: Path) -> None:
    """What `export --format json` prints, and what another file is written from."""
    write(path, line("a"))
    (record,), _ = read(path)
    assert tuple(record) == KEYS
    assert record["schema"] == FULL
    assert as_line(record) == as_line(line("a"))


def test_cells_of_several_devices_and_backends(path: Path) -> None:
    records = [line("a"), line("b", device="cuda", device_name="A GPU"), line("c", backend="eager"), line("d")]
    write(path, *records)
    written = written_to(path)
    assert [record.get("kind") for record in written] == ["run", None, None, None, None]
    assert (written[2]["device"], written[2]["device_name"], written[3]["backend"]) == ("cuda", "A GPU", "eager")
    assert read(path) == (records, [])


def test_facts_that_become_known_later(path: Path) -> None:
    """A cell that is skipped before torch was imported knows little; an interpreter that is named has a build."""
    records = [
        line("a", torch_git="", device_name=""), line("b"), line("c"), line("d", build="2.13.0@abc"), line("e")
    ]  # fmt: skip
    write(path, *records)
    written = written_to(path)
    assert [record.get("kind") for record in written].count("run") == 4
    assert read(path) == (records, [])


def test_several_runs_in_one_file(path: Path) -> None:
    first, two = (JournalWriter(path, shares_facts=True) for _ in range(2))
    records = [line("a"), line("b", "two", python="3.12.1"), line("c"), line("d", "two", python="3.12.1")]
    for number, each in enumerate(records):
        (first, two)[number % 2].append(each)
    assert read(path) == (records, [])


def test_both_schemas_in_one_file(path: Path) -> None:
    old = JournalWriter(path)
    old.append(line("old", "before", torch="2.9.1"))
    write(path, line("a"))
    old.append(line("later", "before", torch="2.9.1"))
    write(path, line("b"))
    assert [json.loads(text)["schema"] for text in path.read_text().splitlines()] == [1, 2, 2, 1, 2, 2]
    records, warnings = read(path)
    assert [(record["case"], record["torch"]) for record in records] == [
        ("old", "2.9.1"), ("a", "2.13.0+cpu"), ("later", "2.9.1"), ("b", "2.13.0+cpu")
    ]  # fmt: skip
    assert warnings == []


def test_files_of_one_run_are_merged_by_one_behind_the_other(tmp_path: Path) -> None:
    """The environments of a run share its id, and each has facts of its own."""
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, torch in zip(paths, ("2.9.1", "2.13.0"), strict=True):
        write(file, line("a", torch=torch))
    whole = tmp_path / "both.jsonl"
    whole.write_bytes(b"".join(file.read_bytes() for file in paths))
    assert [record["torch"] for record in read(whole)[0]] == ["2.9.1", "2.13.0"]
    assert [record["torch"] for record in read(*paths)[0]] == ["2.9.1", "2.13.0"]


@pytest.mark.parametrize("keep", [20, -2])
def test_a_torn_line(path: Path, keep: int) -> None:
    write(path, line("a"), line("torn"))
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:keep])
    write(path, line("after"))
    records, warnings = read(path)
    assert [record["case"] for record in records] == ["a", "after"]
    assert warnings == [f"{path}:3: dropped a torn line"]


@pytest.mark.parametrize("keep", [0, 30])
def test_the_line_of_a_run_is_missing_or_torn(path: Path, keep: int) -> None:
    """Its cells are dropped with one warning, those of other runs stay."""
    write(path, line("a"), line("b"))
    run, *cells = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(run[:keep] + b"\n" + b"".join(cells))
    write(path, line("other", "two"))
    records, warnings = read(path)
    assert [record["case"] for record in records] == ["other"]
    torn = [f"{path}:1: dropped a torn line"] if keep else []
    assert warnings == [*torn, f"{path}:2: dropped the lines of run one: the line with its facts is missing"]


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": 2, "kind": "run"}',
        '{"schema": 2, "kind": "run", "run_id": 5}',
        '{"schema": 2, "kind": ["run"], "run_id": "x"}',
        '{"schema": 2, "run_id": ["x"]}',
        '{"schema": 2}',
        '{"schema": 1, "kind": "run", "run_id": "x"}',
    ],
)
def test_lines_that_no_pt2bugs_wrote(path: Path, text: str) -> None:
    path.write_text(f"{text}\n")
    write(path, line("a"))
    records, warnings = read(path)
    assert [record["case"] for record in records] == ["a"]
    assert len(warnings) == 1
    assert f"{path}:1: dropped" in warnings[0]


def test_facts_of_a_wrong_type(path: Path) -> None:
    write(path, line("a"))
    path.write_text(path.read_text().replace('"python": "3.11.7"', '"python": 3.11'))
    assert read(path) == ([], [f"{path}:2: dropped a line: python: Expected `str`, got `float`"])


def test_a_newer_schema_is_refused(path: Path) -> None:
    path.write_text(f'{{"schema": {SCHEMA + 1}, "kind": "run", "run_id": "x"}}\n')
    with pytest.raises(JournalError, match=f"journal schema {SCHEMA + 1} is newer than {SCHEMA}"):
        read(path)


def test_lines_that_are_not_wanted_are_not_parsed_but_those_of_runs_are(path: Path) -> None:
    write(path, line("a"), line("b"))
    records = list(read_journal([path], lambda _: None, lambda text: b'"b"' in text))
    assert [(record["case"], record["torch"]) for record in records] == [("b", "2.13.0+cpu")]


def test_a_line_is_a_third_shorter(path: Path) -> None:
    """Of 1000 characters that are not the message's, as lines of the committed results have them."""
    records = [line(f"pytorch_{number}", message="m" * 130) for number in range(50)]
    write(path, *records)
    written = written_to(path)
    assert len(written) == 51
    assert path.stat().st_size < 0.67 * sum(len(as_line(record)) + 1 for record in records)


changes = st.fixed_dictionaries(
    {},
    optional={
        "run_id": st.sampled_from(["one", "two"]),
        "torch": st.sampled_from(["2.9.1", "2.13.0+cpu"]),
        "device": st.sampled_from(["cpu", "cuda"]),
        "device_name": st.sampled_from(["", "A GPU", "A processor"]),
        "backend": st.sampled_from(["inductor", "eager"]),
        "extras": st.sampled_from([[], ["turbine"]]),
        "build": st.sampled_from(["2.13.0@abc", "2.13.0@def"]),
        "frames": st.just(["torch/a.py:1 f"]),
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(changes, max_size=12))
def test_whatever_is_written_is_read(path: Path, many: list[dict[str, Any]]) -> None:
    path.unlink(missing_ok=True)
    records = [line(f"case_{number}", **change) for number, change in enumerate(many)]
    write(path, *records)
    assert read(path) == (records, [])


def test_commands_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.13.0": "."})
    file = tmp_path / "results" / "journal" / "pytorch_1.jsonl"
    records, _ = read(file)
    where = ["--cases", str(tmp_path / "cases"), "--results", str(tmp_path / "results")]
    answers = []
    for _ in range(2):
        assert main(["export", "--format", "json", *where]) == 0
        answers.append(capsys.readouterr().out)
        file.unlink()
        write(file, *records)
    assert answers[0] == answers[1]
