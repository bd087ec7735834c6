"""The journal: whole lines only, whoever writes, dies or reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from pt2bugs.results.journal import (
    KEYS,
    LATER_KEYS,
    SCHEMA,
    JournalError,
    JournalWriter,
    Record,
    journal_files,
    named_release,
    read_journal,
    shown_releases,
)


def record(**values: Any) -> Record:
    texts: Any = dict.fromkeys(KEYS, "")
    numbers: Any = {
        **dict.fromkeys(("graphs", *LATER_KEYS)),
        "exit_status": None,
        "duration_s": 0.0,
        "peak_rss_mb": 0.0,
    }
    judged: Any = {"outcome": "pass", "verdict": "pass", "started": "2026-01-01T00:00:00.000Z"}
    made: Any = {**texts, **numbers, **judged, "schema": SCHEMA, "repeat": 1, "repeats": 1, "extras": [], **values}
    return cast(Record, made)


def read(*paths: Path) -> tuple[list[Record], list[str]]:
    warnings: list[str] = []
    return list(read_journal(paths, warnings.append)), warnings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal" / "run.jsonl"


def write(path: Path, *records: Record) -> None:
    journal = JournalWriter(path)
    for record in records:
        journal.append(record)
    journal.close()


def test_a_line_per_record_with_all_keys_in_order(path: Path) -> None:
    write(path, record(case="a", surplus=1), record(case="b"))
    lines = path.read_text().splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["a", "b"]
    assert all(tuple(json.loads(line)) == KEYS for line in lines)


@pytest.mark.parametrize("text", ["a\nb", "\r\x00\x1b[31m", "\u2028\x85", "\udc80", "\N{SNOWMAN}", '"}\n{"'])
def test_any_text_stays_on_its_line(path: Path, text: str) -> None:
    write(path, record(message=text), record(case="next"))
    records, warnings = read(path)
    assert [entry["case"] for entry in records] == ["", "next"]
    assert records[0]["message"] == text.encode(errors="replace").decode()
    assert warnings == []


def test_a_line_from_before_the_counts_reads_them_as_null(path: Path) -> None:
    old = {key: value for key, value in record().items() if key not in LATER_KEYS}
    path.parent.mkdir()
    path.write_text(json.dumps({**old, "schema": 1}) + "\n")
    (read_back,), warnings = read(path)
    assert ({key: read_back[key] for key in LATER_KEYS}, warnings) == (dict.fromkeys(LATER_KEYS), [])  # type: ignore[literal-required]


def test_appends_to_what_is_there(path: Path) -> None:
    write(path, record(case="a"))
    write(path, record(case="b"))
    assert [entry["case"] for entry in read(path)[0]] == ["a", "b"]


def test_goes_on_in_the_file_that_took_the_place_of_its_own(path: Path) -> None:
    """A merge, or git, puts a new file where the old one was, while a run writes."""
    journal = JournalWriter(path)
    journal.append(record(case="a"))
    new = path.with_name("new")
    new.write_bytes(path.read_bytes())
    new.replace(path)
    journal.append(record(case="b"))
    assert [entry["case"] for entry in read(path)[0]] == ["a", "b"]
    path.unlink()
    journal.append(record(case="c"))
    journal.close()
    assert [entry["case"] for entry in read(path)[0]] == ["c"]


@pytest.mark.parametrize("keep", [1, 10, -2, -1])
def test_torn_last_line_is_dropped_with_a_warning(path: Path, keep: int) -> None:
    write(path, record(case="whole"), record(case="torn"))
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:keep])
    records, warnings = read(path)
    if keep == -1:  # only its end of line is missing
        assert [entry["case"] for entry in records] == ["whole", "torn"]
    else:
        assert [entry["case"] for entry in records] == ["whole"]
        assert warnings == [f"{path}:2: dropped a torn line"]


def test_torn_line_does_not_swallow_the_next(path: Path) -> None:
    write(path, record(case="torn"))
    os.truncate(path, path.stat().st_size - 20)
    write(path, record(case="after"))
    records, warnings = read(path)
    assert [entry["case"] for entry in records] == ["after"]
    assert warnings == [f"{path}:1: dropped a torn line"]


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\n", b"[1]\n", b"null\n", b'{"schema": 1}\n', b'{"schema": "x"}\n', b'{"case": "a"}\n', b"\0\0\n"],
)
def test_line_that_is_no_record_is_dropped_with_a_warning(path: Path, line: bytes) -> None:
    write(path, record(case="a"))
    with path.open("ab") as file:
        file.write(line)
    write(path, record(case="b"))
    records, warnings = read(path)
    assert [entry["case"] for entry in records] == ["a", "b"]
    assert len(warnings) == 1
    assert f"{path}:2: dropped" in warnings[0]


def test_empty_lines_are_nothing(path: Path) -> None:
    write(path, record(case="a"))
    with path.open("ab") as file:
        file.write(b"\n\n")
    assert len(read(path)[0]) == 1
    assert read(path)[1] == []


def test_newer_schema_is_refused(path: Path) -> None:
    write(path, record(), record(schema=SCHEMA + 1))
    with pytest.raises(JournalError, match=rf"run\.jsonl:2: journal schema {SCHEMA + 1} is newer than {SCHEMA}"):
        read(path)


def test_journal_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read: No such file"):
        read(tmp_path / "none.jsonl")


def test_files_of_a_folder_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "note.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in journal_files(tmp_path)] == ["a.jsonl", "b.jsonl"]
    assert journal_files(tmp_path / "none") == []


class TestUnwritable:
    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(JournalError, match="cannot be written: Is a directory"):
            JournalWriter(tmp_path)

    def test_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(JournalError, match="cannot be written"):
            JournalWriter(tmp_path / "file" / "journal.jsonl")

    def test_full_disk(self) -> None:
        journal = JournalWriter(Path("/dev/full"))
        with pytest.raises(JournalError, match="/dev/full: cannot be written: No space left on device; free space"):
            journal.append(record())
        journal.close()

    def test_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        journal = JournalWriter(tmp_path / "pipe")
        with pytest.raises(JournalError, match="cannot be written: Illegal seek"):
            journal.append(record())
        journal.close()

    def test_line_that_does_not_fit_leaves_nothing(self, path: Path) -> None:
        """A disk that fills in the middle of a line: the file is as it was."""
        write(path, record(case="a"))
        size = path.stat().st_size
        script = (
            "import sys, resource; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
            "from test_results_journal import *\n"
            f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 100}, {size + 100}))\n"
            "write(Path(sys.argv[1]), record(case='b'))"
        )
        command = [sys.executable, "-c", script, str(path), str(Path(__file__).parent)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "JournalError" in done.stderr
        assert path.stat().st_size == size


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_results_journal import JournalWriter, record
journal = JournalWriter(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    journal.append(record(case=f"{sys.argv[4]}-{number}", message="x" * 3000))
    print(number, flush=True)
"""


def writer(path: Path, count: int, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(path), str(Path(__file__).parent), str(count), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_many_writers_of_one_file(path: Path) -> None:
    processes = [writer(path, 200, name) for name in "abc"]
    for process in processes:
        process.communicate()
    records, warnings = read(path)
    assert sorted(entry["case"] for entry in records) == sorted(f"{name}-{n}" for name in "abc" for n in range(200))
    assert warnings == []


def test_writer_killed_at_any_moment(path: Path) -> None:
    """What it had said to have written is there."""
    written: set[str] = set()
    for name in "abcdef":
        process = writer(path, 1_000_000, name)
        assert process.stdout is not None
        for _ in range(20):
            written.add(f"{name}-{process.stdout.readline().strip()}")
        process.send_signal(signal.SIGKILL)
        written |= {f"{name}-{line.strip()}" for line in process.stdout if line.endswith("\n")}
        process.wait()
        process.stdout.close()
    records, _ = read(path)
    names = [entry["case"] for entry in records]
    assert written <= set(names)
    assert len(names) == len(set(names))


def test_a_journal_named_by_another_release_is_told_of_once(path: Path) -> None:
    named = path.with_name("torch-2.9.1-py3.11.jsonl")
    ours = [record(case="a", torch=torch, python="3.11.7") for torch in ("2.9.1+cpu", "2.9.1", "")]
    other = [record(case="b", torch=torch, python="3.11.7") for torch in ("2.13.0+cpu", "2.13.0", "2.13.0+cpu")]
    write(named, *ours, *other)
    write(path, *other)
    records, warnings = read(named, path)
    assert len(records) == 9
    (warning,) = warnings
    assert "has lines of torch 2.13.0, though it is named by torch 2.9.1" in warning
    assert "rename the file" in warning


def test_the_releases_of_a_journal_are_seen_at_its_ends(path: Path) -> None:
    assert named_release(path.with_name("torch-2.9.1+cpu-py3.11-turbine.jsonl")) == "2.9.1"
    assert named_release(path.with_name("torch-odd-py3.11.jsonl")) == named_release(path) == ""
    write(path, *(record(torch=torch, message="m" * 90_000) for torch in ("2.9.1+cpu", "2.10.0", "2.13.0")))
    assert shown_releases(path) == {"2.9.1"}  # the end of a line without its begin says nothing
    write(path, record(torch="2.12.1+cu130"))
    assert shown_releases(path) == {"2.9.1", "2.12.1"}
    path.write_bytes(b"")
    assert shown_releases(path) == set()
