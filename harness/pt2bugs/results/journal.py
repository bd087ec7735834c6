"""Reads the journal. A line that is torn or that no pt2bugs can have written is dropped with a warning."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import orjson
from msgspec import convert
from packaging.version import InvalidVersion, Version
from pt2bugs.results.lines import HEADS, NO_LINE, Line, complete, decode, decode_short, problem_of
from pt2bugs.results.record import FULL, KEYS, RUN, RUN_KEYS, SCHEMA, Record
from pt2bugs.results.writer import JournalError

Warn = Callable[[str], None]


def journal_files(folder: Path, warn: Warn = lambda _: None) -> list[Path]:
    """The journal files of a results folder, sorted by name; what is no regular file is left out with a warning."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        try:
            is_regular = stat.S_ISREG(path.stat().st_mode)
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
        if is_regular:
            found.append(path)
        else:
            warn(f"{path}: left out: it is not a regular file")
    return found


def read_journal(
    paths: Iterable[Path], warn: Warn, wanted: Callable[[bytes], bool] = lambda _: True
) -> Iterator[Record]:
    """The records of the files, in file order, each with all keys.

    A line of schema 2 has its run's facts from the nearest line of that run above it in its file. Without one it is
    dropped, with one warning for each run.

    Args:
        wanted: asked of every line of a cell as it stands in the file; one that is not wanted is not even parsed.

    Raises:
        JournalError: a file cannot be read, or is of a newer schema.
    """
    for path in paths:
        with _opened(path, warn) as (journal, lines):
            for number, line in enumerate(lines, 1):
                is_wanted = wanted(line)
                # The line of a run; inside a text the quotes would be escaped.
                if not is_wanted and b'"kind"' not in line:
                    continue
                record = journal.parse(number, line)
                if record is not None and is_wanted:
                    yield record


def read_lines(paths: Iterable[Path], warn: Warn) -> Iterator[Any]:
    """What `read_journal` gives, each as a `Line`, in half the time.

    Raises:
        JournalError: a file cannot be read, or is of a newer schema.
    """
    for path in paths:
        with _opened(path, warn) as (journal, texts):
            versions = journal.versions
            for number, text in enumerate(texts, 1):
                try:
                    line = decode(text) if text.startswith(HEADS) else journal.decode_short(text)
                except NO_LINE:
                    line = None
                if (
                    line is None
                    or line.repeat > line.repeats
                    or line.torch not in versions
                    or line.python not in versions
                ):
                    record = journal.parse(number, text)
                    if record is None:
                        continue
                    line = convert(record, Line)
                yield line


@contextmanager
def _opened(path: Path, warn: Warn) -> Iterator[tuple[_File, Iterable[bytes]]]:
    """A journal file, and its lines.

    Raises:
        JournalError: it cannot be read.
    """
    try:
        with path.open("rb") as texts:
            yield _File(path, warn), texts
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


class _File:
    """The lines of one journal file, and the facts of its runs."""

    def __init__(self, path: Path, warn: Warn) -> None:
        self._path, self._warn = path, warn
        self._runs: dict[str, dict[str, Any]] = {}
        self._unknown: set[str] = set()
        self.versions: set[str] = set()
        """Of torch and of Python, in good lines so far."""

    def decode_short(self, text: bytes) -> Any:
        """The line that a text of schema 2 is; None of what `parse` must look at.

        Raises:
            NO_LINE: it is none, for instance the line of a run.
        """
        line = decode_short(text)
        facts = self._runs.get(line.run_id)
        return line if line.schema == SCHEMA and facts is not None and complete(line, facts) else None

    def parse(self, number: int, line: bytes) -> Record | None:
        """The record of a line; None of one that is dropped, or has the facts of a run."""
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            if line.strip():
                self._warn(f"{self._path}:{number}: dropped a torn line")
            return None
        if type(value) is not dict or type(value.get("schema")) is not int:
            self._warn(f"{self._path}:{number}: dropped a line that is no record")
            return None
        if value["schema"] > SCHEMA:
            raise JournalError(
                f"{self._path}:{number}: journal schema {value['schema']} is newer than {SCHEMA}, "
                "the newest this pt2bugs reads; upgrade pt2bugs"
            )
        if value["schema"] > FULL and value.get("kind") == RUN:
            self._take_run(number, value)
            return None
        if value["schema"] > FULL and not self._complete(number, value):
            return None
        if problem := _problem_of(value):
            self._warn(f"{self._path}:{number}: dropped a line: {problem}")
            return None
        self.versions.update((value["torch"], value["python"]))
        return cast(Record, value)

    def _take_run(self, number: int, value: dict[str, Any]) -> None:
        if type(value.get("run_id")) is not str:
            self._warn(f"{self._path}:{number}: dropped the line of a run: it has no run_id")
            return
        self._runs[value["run_id"]] = {key: one for key, one in value.items() if key not in ("schema", "kind")}

    def _complete(self, number: int, value: dict[str, Any]) -> bool:
        """Put the facts of its run into a record of schema 2; False if it needs some and there are none."""
        own = dict(value)
        run = own.get("run_id")
        facts = self._runs.get(run) if type(run) is str else None
        if facts is None:
            if all(key in own for key in RUN_KEYS if key in KEYS) or type(run) is not str:
                return True
            if run not in self._unknown:
                self._unknown.add(run)
                problem = f"dropped the lines of run {run:.60}: the line with its facts is missing"
                self._warn(f"{self._path}:{number}: {problem}")
            return False
        whole = {**facts, **own, "schema": FULL}
        whole.pop("kind", None)
        value.clear()
        value.update({key: whole.pop(key) for key in KEYS if key in whole})
        value.update(whole)
        return True


def _problem_of(value: dict[str, Any]) -> str:
    """What makes an object no record; empty for one that is."""
    if problem := problem_of(value):
        return f"{problem:.200}"
    if value["repeat"] > value["repeats"]:
        return "repeat and repeats are no numbers of a series"
    for key in ("torch", "python"):
        if not _is_version(value[key]):
            return f"{key} is no version: {value[key]!r:.40}"
    return ""


@lru_cache(maxsize=4096)
def _is_version(text: str) -> bool:
    """Whether the text is a version, or empty: of an environment that did not start it is not known."""
    try:
        return not text or bool(Version(text))
    except (InvalidVersion, ValueError):
        return False
