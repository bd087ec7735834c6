"""The journal: append-only JSON lines, one object per run of a cell. All else derives from it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import __version__
from harness.outcome import Observation, Verdict
from harness.pool import map_in_processes

if TYPE_CHECKING:
    from harness.plan import Cell

SCHEMA = 1

KEYS = (
    "schema",
    "run_id",
    "started",
    "case",
    "check",
    "case_hash",
    "torch",
    "torch_git",
    "python",
    "platform",
    "device",
    "device_name",
    "cpu_capability",
    "backend",
    "extras",
    "repeat",
    "repeats",
    "outcome",
    "verdict",
    "error_type",
    "message",
    "frame",
    "signal",
    "exit_status",
    "graphs",
    "duration_s",
    "peak_rss_mb",
    "output_tail",
    "harness",
)

Record = dict[str, Any]

# A journal may have a million lines. `json.loads` spends half of its time on finding out an encoding.
_decode = json.JSONDecoder().raw_decode
_all_values = itemgetter(*KEYS)


def new_record(
    cell: Cell,
    seen: Observation,
    verdict: Verdict,
    facts: Mapping[str, str],
    *,
    run_id: str,
    started: datetime,
    extras: Sequence[str],
    repeat: int = 1,
    repeats: int = 1,
) -> Record:
    """The journal line of one run of a cell.

    Args:
        facts: `torch`, `torch_git`, `python`, `platform`, `device_name`, `cpu_capability`, as far as known.
        started: in UTC.
    """
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "started": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "case": cell.case.id,
        "check": cell.check.name,
        "case_hash": cell.case.hash,
        "torch": facts.get("torch", ""),
        "torch_git": facts.get("torch_git", ""),
        "python": facts.get("python", ""),
        "platform": facts.get("platform", ""),
        "device": cell.device,
        "device_name": facts.get("device_name", ""),
        "cpu_capability": facts.get("cpu_capability", ""),
        "backend": cell.backend,
        "extras": list(extras),
        "repeat": repeat,
        "repeats": repeats,
        "outcome": str(seen.outcome),
        "verdict": str(verdict),
        "error_type": seen.error_type,
        "message": seen.message,
        "frame": seen.frame,
        "signal": seen.signal,
        "exit_status": seen.exit_status,
        "graphs": seen.graphs,
        "duration_s": round(seen.duration_s, 4),
        "peak_rss_mb": round(seen.peak_rss_mb, 1),
        "output_tail": seen.output_tail,
        "harness": __version__,
    }


class JournalError(Exception):
    """A journal that cannot be written or read.

    Cause: a folder that is not writable, a full disk, a file of a newer schema.
    Remedy: the message says which file and what to do; lines already recorded are untouched.
    """


class JournalWriter:
    """Appends records to one file; whole lines only, also beside other writers of the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(path, error) from None

    def append(self, record: Record) -> None:
        """Write one line and hand it to the system before returning.

        Raises:
            JournalError: it could not be written; the file is as it was.
        """
        line = json.dumps({key: record[key] for key in KEYS}, ensure_ascii=False).encode(errors="replace")
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            try:
                self._append_line(line)
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def _append_line(self, line: bytes) -> None:
        end = os.lseek(self._fd, 0, os.SEEK_END)
        # A writer killed in the middle of a line leaves a torn one: keep ours apart from it.
        torn = end > 0 and os.pread(self._fd, 1, end - 1) != b"\n"
        data = (b"\n" if torn else b"") + line + b"\n"
        try:
            if os.write(self._fd, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301
        except OSError:
            with contextlib.suppress(OSError):  # a device has no length
                os.ftruncate(self._fd, end)
            raise

    def close(self) -> None:
        os.close(self._fd)


def _unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(f"{path}: cannot be written: {error.strerror}; free space or choose another folder")


def read_journal(paths: Iterable[Path], warn: Callable[[str], None]) -> Iterator[Record]:
    """The records of the files, in file order; a torn line is dropped with a warning.

    Raises:
        JournalError: a file cannot be read, or is of a newer schema.
    """
    for path in paths:
        with _reading(path) as lines:
            for number, line in enumerate(lines, 1):
                if record := _parse(path, number, line, warn):
                    yield record


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[Iterable[bytes]]:
    try:
        with path.open("rb") as lines:
            yield lines
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def read_newest(paths: Iterable[Path], warn: Callable[[str], None]) -> Iterator[Record]:
    """The records less those that have no say any more: where a later one of their file has the same cell,
    program, torch, repeat and verdict.

    Most lines of a journal that has grown for long are such, and are not parsed at all.

    Raises:
        JournalError: as `read_journal`.
    """
    paths = list(paths)
    worth = sum(path.stat().st_size for path in paths if path.exists()) > _MUCH
    for path, wanted in zip(paths, map_in_processes(_newest_numbers, paths, worth=worth), strict=True):
        with _reading(path) as lines:
            for number, line in enumerate(lines, 1):
                if number in wanted and (record := _parse(path, number, line, warn)):
                    yield record


_MUCH = 64 << 20
"""Bytes of journals from which on it pays to start processes that look through them."""


def _newest_numbers(path: Path) -> set[int]:
    """Numbers, from 1, of the lines with a say, and of those that are not as `JournalWriter` writes them."""
    strange: set[int] = set()
    newest: dict[tuple[bytes | Any, ...], tuple[bytes, int]] = {}
    with _reading(path) as lines:
        for number, line in enumerate(lines, 1):
            head = _HEAD.match(line)
            # The quotes of this would be escaped in a string: a line with such an end was not cut off.
            if head is None or not line.endswith(b'"}\n') or line.rfind(b', "harness": "', -80) < 0:
                strange.add(number)
                continue
            started, subject = head[1], head.group(2, 3, 4, 5, 6)
            known = newest.get(subject)
            if known is None or started >= known[0]:
                newest[subject] = (started, number)
    return strange | {number for _, number in newest.values()}


def _head() -> re.Pattern[bytes]:
    """Matches the start of a whole line; its groups are `started`, then what the line is about."""
    text = r'"[^"\\]*"'
    pattern = rf'\{{"schema": {SCHEMA}, '
    pattern += rf'"run_id": {text}, "started": ({text}), '
    pattern += rf'("case": {text}, "check": {text}, "case_hash": {text}, "torch": {text}), "torch_git": {text}, '
    pattern += rf'"python": ({text}), "platform": {text}, "device": ({text}), "device_name": {text}, '
    pattern += rf'"cpu_capability": {text}, ("backend": {text}, "extras": \[[^\]]*\], "repeat": \d+, "repeats": \d+), '
    pattern += rf'"outcome": {text}, "verdict": ({text}), '
    return re.compile(pattern.encode())


_HEAD = _head()


def _parse(path: Path, number: int, line: bytes, warn: Callable[[str], None]) -> Record | None:
    try:
        text = line.decode("utf-8", "surrogatepass").strip()
        if not text:
            return None
        record, end = _decode(text)
        if end != len(text):
            record = None
    except ValueError:
        record = None
    if not isinstance(record, dict) or not isinstance(record.get("schema"), int):
        warn(f"{path}:{number}: dropped a torn line")
        return None
    if record["schema"] > SCHEMA:
        raise JournalError(
            f"{path}:{number}: journal schema {record['schema']} is newer than {SCHEMA}, "
            "the newest this pt2bugs reads; upgrade pt2bugs"
        )
    try:
        _all_values(record)
    except KeyError:
        absent = [key for key in KEYS if key not in record]
        warn(f"{path}:{number}: dropped a line without {', '.join(absent)}")
        return None
    return record


def journal_files(folder: Path) -> list[Path]:
    """The journal files of a results folder, sorted by name; none if there is no such folder."""
    return sorted(folder.glob("*.jsonl"))
