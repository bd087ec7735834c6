"""Writes the journal: append-only JSON lines, one object for each run of a cell. All else derives from it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

from pt2bugs.errors import InputError
from pt2bugs.results.record import KEYS, OPTIONAL_KEYS, RUN, RUN_KEYS, SCHEMA, Record


class JournalError(InputError):
    """A journal that cannot be written or read.

    Cause: a folder that is not writable, a full disk, a file of a newer schema.
    Remedy: the message says which file and what to do; lines already recorded are untouched.
    """


LARGE_JOURNALS = 20 << 20
"""Bytes of all journals of a results folder from which on the facts of a run are written once."""


def all_journals(results: Path) -> list[Path]:
    """The journals of a results folder, those of its backends too, in the order of their paths."""
    return sorted([*results.glob("journal/*.jsonl"), *results.glob("backends/*/journal/*.jsonl")])


def is_large(results: Path) -> bool:
    """Whether the journals of a results folder, those of its backends too, are that large together."""
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in all_journals(results)) > LARGE_JOURNALS
    return False


class JournalWriter:
    """Appends records to one file; whole lines only, also beside other writers of the same file.

    Args:
        shares_facts: write the facts of a run once, in a line of their own before its first record, and leave them out
            of the records (schema 2). Two processes that write to one file must then have run ids of their own.
    """

    def __init__(self, path: Path, *, shares_facts: bool = False) -> None:
        self.path = path
        self._shares_facts = shares_facts
        self._facts: dict[str, dict[str, Any]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = self._open()
        except OSError as error:
            raise _unwritable(path, error) from None

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def append(self, record: Record) -> None:
        """Write one line and hand it to the system before returning.

        Raises:
            JournalError: it could not be written; the file is as it was.
        """
        line, facts = (as_line(record), None) if not self._shares_facts else self._shortened(record)
        try:
            self._lock()
            try:
                self._append_line(line)
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        if facts is not None:
            self._facts[record["run_id"]] = facts

    def _shortened(self, record: Record) -> tuple[bytes, dict[str, Any] | None]:
        """The line of a record without the facts of its run; that of its run before it, where those are new."""
        facts = {key: record[key] for key in RUN_KEYS if key in record}  # type: ignore[literal-required]
        known = self._facts.get(record["run_id"])
        differ = {key for key in RUN_KEYS if known is None or facts.get(key, "") != known.get(key, "")}
        # Another device or backend stands in its own lines; what else is new holds for those that follow.
        is_new = known is None or not differ <= {"device", "device_name", "backend"}
        is_new = is_new or ("device_name" in differ and "device" not in differ)
        own = set() if is_new else differ
        line = _as_json(
            {"schema": SCHEMA}
            | {
                key: record[key]  # type: ignore[literal-required]
                for key in (*KEYS, *OPTIONAL_KEYS)
                if key != "schema" and key in record and (key not in RUN_KEYS or key in own)
            }
        )
        if not is_new:
            return line, None
        return _as_json({"schema": SCHEMA, "kind": RUN, "run_id": record["run_id"], **facts}) + b"\n" + line, facts

    def _lock(self) -> None:
        """Lock the file of that name: a merge, or git, may have put another one in its place."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        while not self._is_there():
            replaced, self._fd = self._fd, self._open()
            os.close(replaced)
            fcntl.flock(self._fd, fcntl.LOCK_EX)

    def _is_there(self) -> bool:
        ours = os.fstat(self._fd)
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)

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


def as_line(record: Record) -> bytes:
    """A record as JSON on one line, without the line's end; keys in their order."""
    kept = {key: record[key] for key in (*KEYS, *OPTIONAL_KEYS) if key in record}  # type: ignore[literal-required]
    return _as_json(kept)


def _as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(f"{path}: cannot be written: {error.strerror}; free space or choose another folder")
