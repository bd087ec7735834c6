"""Journal lines that no pt2bugs can have written are dropped with a warning that names file and line."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pt2bugs.cli import main
from pt2bugs.results.journal import KEYS, LATER_KEYS, JournalError, journal_files, read_journal
from seeded import write_case, write_journal

WRONG: dict[str, list[Any]] = {
    "torch": ["word", 5, None, "2.9.1-"],
    "python": ["three", 3.11, []],
    "outcome": ["banana", None, 1],
    "verdict": ["", "maybe", {}],
    "extras": [None, "turbine", [1], {}],
    "repeat": ["1", 0, 3, None, True],
    "repeats": [None, -1],
    "graphs": ["1", 1.5],
    "exit_status": ["0"],
    "duration_s": ["fast", None],
    "peak_rss_mb": [[]],
    "message": [None, 5, ["a"]],
    "frames": ["torch/a.py:1 f", [1], None],
    "case": [None],
    "started": [20260101, "", "not a time", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00"],
}


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B"})
    record: dict[str, Any] = json.loads((tmp_path / "results" / "journal" / "pytorch_1.jsonl").read_text())
    return record


def read(path: Path) -> tuple[int, list[str]]:
    warnings: list[str] = []
    return len(list(read_journal([path], warnings.append))), warnings


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values], ids=str)
def test_a_wrong_value(tmp_path: Path, good: dict[str, Any], key: str, value: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**good, key: value})}\n{json.dumps(good)}\n")
    count, warnings = read(path)
    assert count == 2
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{path}:2: dropped a line")
    assert len(warnings[0]) < 300


@pytest.mark.parametrize("key", [key for key in KEYS if key not in LATER_KEYS])
def test_a_missing_key(tmp_path: Path, good: dict[str, Any], key: str) -> None:
    path = tmp_path / "a.jsonl"
    del good[key]
    path.write_text(f"{json.dumps(good)}\n")
    assert read(path)[0] == 0


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"schema": 1, "message": "\\ud800"}',
        b"\xff\xfe\x00",
        b'{"schema": true}',
        b'{"schema": 1e999}',
        b"null",
        b"5",
        b'"text"',
        b"{}",
        b"\x00" * 5000,
    ],
    ids=lambda line: repr(line[:20]),
)
def test_no_record_at_all(tmp_path: Path, good: dict[str, Any], line: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line + b"\n" + json.dumps(good).encode() + b"\n")
    count, warnings = read(path)
    assert count == 1
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{path}:1: dropped a")


def test_only_regular_files_are_journals(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "good.jsonl").touch()
    warnings: list[str] = []
    assert [path.name for path in journal_files(tmp_path, warnings.append)] == ["good.jsonl"]
    assert len(warnings) == 3


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from([*KEYS, "frames", "build", "kind"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=5)
        | st.lists(st.integers()),
        max_size=4,
    )
)
def test_no_line_breaks_a_command(tmp_path: Path, good: dict[str, Any], changes: dict[str, Any]) -> None:
    (tmp_path / "results" / "journal" / "odd.jsonl").write_text(json.dumps({**good, **changes, "schema": 1}) + "\n")
    where = ["--cases", str(tmp_path / "cases"), "--results", str(tmp_path / "results")]
    for format_ in ("csv", "json", "junit"):
        assert main(["export", "--format", format_, "-o", str(tmp_path / "out"), *where]) in (0, 1, 3)


PIECES = (b"\n", b"{", b'"', b"[" * 2000, b"9" * 5000, b"\\ud800", b"null", b"1e999")
"""What is put into a good line."""


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 900),
            st.integers(0, 20),
            st.binary(max_size=4) | st.sampled_from(PIECES),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_change_of_a_line_costs_no_other(
    tmp_path: Path, good: dict[str, Any], changes: list[tuple[int, int, bytes]]
) -> None:
    """Its neighbours are read, whatever it says."""
    line = json.dumps(good).encode()
    changed = line
    for place, length, piece in changes:
        changed = changed[:place] + piece + changed[place + length :]
    path = tmp_path / "results" / "journal" / "odd.jsonl"
    path.write_bytes(line + b"\n" + changed + b"\n" + line + b"\n")
    records = []
    try:
        records = list(read_journal([path], lambda _: None))
    except JournalError as error:
        assert "is newer than" in str(error)
        return
    assert sum(record == good for record in records) >= 2


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("journal/torch-2.9.1-py3.11.jsonl", "thin"),
        ("journal/torch-2.9.1-py3.11.jsonl", "merge results -o other"),
        ("perf/torch-2.9.1-py3.11.jsonl", "news --since 2025-01-01 --slower"),
        ("fixes/pytorch_1.json", "report -o site"),
        ("durations.csv", "plan --shards 2 --torch 2.9.1"),
    ],
)
def test_a_pipe_in_the_results_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str, words: str
) -> None:
    """Reading it would block for ever."""
    monkeypatch.chdir(tmp_path)
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.10.0": "."})
    pipe = tmp_path / "results" / place
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    former = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(60)
    try:
        assert main(words.split()) in (0, 2)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
    assert f"results/{place}" in (error := capsys.readouterr().err)
    assert "not a regular file" in error
