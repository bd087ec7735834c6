"""The journal: append-only JSON lines, one object for each run of a cell. All else derives from it.

In schema 1 a line has all keys; in schema 2 it leaves out the facts (`RUN_KEYS`) that the line of its run has. A line
that is torn, or that no pt2bugs can have written, is dropped with a warning.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypedDict, cast, get_type_hints

from pt2bugs import __version__
from pt2bugs.case.cells import Cell
from pt2bugs.case.observation import Observation
from pt2bugs.case.versions import is_version, public_or_empty
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.errors import InputError
from pt2bugs.files import listed, write_bytes

if TYPE_CHECKING:
    import msgspec

Warn = Callable[[str], None]


SCHEMA = 2
"""The newest that is read. In schema 1 every line has all keys; in schema 2 a line leaves out the facts that the line
of its run has (`RUN_KEYS`)."""
FULL = 1
"""The schema of a line that has all keys."""


class _MayFollow(TypedDict, total=False):
    frames: list[str]
    outside: str
    build: str
    unconfined: list[str]
    host: str


class Record(_MayFollow):
    """One run of one cell. `frames` follows where torch frames beyond the innermost one were kept, `outside` where an
    exception passed another package than torch, and is its innermost frame there, `build` where the
    interpreter was named by ``--python-exe`` and does not stand for a release, `unconfined` what the machine could not
    keep the cell from, in words of `engine.sandbox`, `host` where a worker of a cluster ran it: the class of its
    machine."""

    schema: int
    run_id: str
    started: str
    case: str
    check: str
    case_hash: str
    torch: str
    torch_git: str
    python: str
    platform: str
    device: str
    device_name: str
    cpu_capability: str
    backend: str
    extras: list[str]
    repeat: int
    repeats: int
    outcome: str
    verdict: str
    error_type: str
    message: str
    frame: str
    signal: str
    exit_status: int | None
    graphs: int | None
    breaks: int | None
    kernels: int | None
    fallbacks: int | None
    duration_s: float
    peak_rss_mb: float
    output_tail: str
    harness: str


LATER_KEYS = ("breaks", "kernels", "fallbacks")
"""Keys that lines of older versions lack: they read as null."""
OPTIONAL_KEYS = tuple(_MayFollow.__annotations__)
RUN = "run"
"""The `kind` of a line that has the facts of a run."""
RUN_KEYS = (
    "torch",
    "torch_git",
    "python",
    "platform",
    "device",
    "device_name",
    "cpu_capability",
    "backend",
    "extras",
    "harness",
    "build",
    "unconfined",
)
"""Keys that the lines of one run in one environment have in common."""
KEYS = tuple(key for key in Record.__annotations__ if key not in OPTIONAL_KEYS)
"""Keys of every line, in the order in which they are written."""


class Facts(Protocol):
    """The facts of an environment, as the engine's `EnvironmentFacts` has them; empty where one is not known."""

    @property
    def torch(self) -> str: ...
    @property
    def torch_git(self) -> str: ...
    @property
    def python(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def device_name(self) -> str: ...
    @property
    def cpu_capability(self) -> str: ...
    @property
    def unconfined(self) -> Sequence[str]: ...


def new_record(
    cell: Cell,
    seen: Observation,
    verdict: Verdict,
    facts: Facts,
    *,
    run_id: str,
    started: datetime,
    extras: Sequence[str],
    repeat: int = 1,
    repeats: int = 1,
    build: str = "",
) -> Record:
    """Return the journal line of one run of a cell.

    Args:
        cell: what was run.
        seen: what it showed.
        verdict: on it.
        facts: of the environment, as far as known.
        run_id: of the run.
        started: in UTC.
        extras: of the environment.
        repeat: number of the run, from 1.
        repeats: how many runs of the cell there are.
        build: what the interpreter was named by, where it does not stand for a release.
    """
    record: Record = {
        "schema": FULL,
        "run_id": run_id,
        "started": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "case": cell.case.id,
        "check": cell.check.name,
        "case_hash": cell.case.hash,
        "torch": facts.torch,
        "torch_git": facts.torch_git,
        "python": facts.python,
        "platform": facts.platform,
        "device": cell.device,
        "device_name": facts.device_name,
        "cpu_capability": facts.cpu_capability,
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
        "breaks": seen.breaks,
        "kernels": seen.kernels,
        "fallbacks": seen.fallbacks,
        "duration_s": round(seen.duration_s, 4),
        "peak_rss_mb": round(seen.peak_rss_mb, 1),
        "output_tail": seen.output_tail,
        "harness": __version__,
    }
    if seen.frames:
        record["frames"] = list(seen.frames)
    if seen.outside:
        record["outside"] = seen.outside
    if build:
        record["build"] = build
    if facts.unconfined:
        record["unconfined"] = list(facts.unconfined)
    return record


class JournalError(InputError):
    """A journal that cannot be written or read.

    Cause: a folder that is not writable, a full disk, a file of a newer schema.
    Remedy: the message says which file and what to do; lines already recorded are untouched.
    """


LARGE_JOURNALS = 20 << 20
"""Bytes of all journals of a results folder from which on the facts of a run are written once."""


def all_journals(results: Path) -> list[Path]:
    """Return the journals of a results folder, those of its backends too, in the order of their paths.

    Args:
        results: the folder.

    Raises:
        InputError: a folder, or a file of it, cannot be looked at.
    """
    folders = [results / "journal", *(path / "journal" for path in listed(results / "backends", ""))]
    return sorted(file for folder in folders for file in journal_files(folder))


def is_large(results: Path) -> bool:
    """Return whether the journals of a results folder are `LARGE_JOURNALS` bytes together.

    Args:
        results: the folder.
    """
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

        Args:
            record: the line.

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
        """Return the line of a record without the facts of its run, after that of its run where those are new."""
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
        """Close the file."""
        os.close(self._fd)


def as_line(record: Record) -> bytes:
    """Return a record as JSON on one line, without the line's end; keys in their order.

    Args:
        record: any.
    """
    kept = {key: record[key] for key in (*KEYS, *OPTIONAL_KEYS) if key in record}  # type: ignore[literal-required]
    return _as_json(kept)


def _as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(f"{path}: cannot be written: {error.strerror}; free space or choose another folder")


def journal_files(folder: Path, warn: Warn = lambda _: None) -> list[Path]:
    """Return the journal files of a results folder, sorted by name.

    Args:
        folder: where they are.
        warn: takes what is no regular file, which is left out.

    Raises:
        JournalError: the folder, or a file of it, cannot be looked at.
    """
    files = []
    try:
        paths = listed(folder, ".jsonl")
    except InputError as error:
        raise JournalError(str(error)) from None
    for path in paths:
        try:
            is_regular = stat.S_ISREG(path.stat().st_mode)
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
        if is_regular:
            files.append(path)
        else:
            warn(f"{path}: left out: it is not a regular file")
    return files


MAX_LINE = 1 << 16
"""Bytes of a line in which the release is looked for."""
_NAME = re.compile(r"torch-([^-]+)-py\d")
_RELEASE = re.compile(rb'"torch": ?"([^"]+)"')


def named_release(journal: Path) -> str:
    """Return the release that a journal is named by, as a public version; empty where it is named otherwise.

    A run names the journal of an environment ``torch-2.13.0-py3.11.jsonl``, and writes no other release to it.

    Args:
        journal: the file.
    """
    match = _NAME.match(journal.name)
    return public_or_empty(match[1]) if match else ""


def shown_releases(journal: Path) -> set[str]:
    """Return the releases of the first and the last line of a journal, as public versions.

    All lines of a journal that was named wrongly are of another release: this finds it without reading it.

    Args:
        journal: the file.

    Raises:
        JournalError: it cannot be read.
    """
    try:
        with journal.open("rb") as lines:
            first = lines.readline(MAX_LINE)
            lines.seek(max(0, journal.stat().st_size - MAX_LINE))
            last = lines.read().splitlines()[-1:]
    except OSError as error:
        raise JournalError(f"{journal}: cannot be read: {error.strerror}") from None
    matches = filter(None, (_RELEASE.search(line) for line in (first, *last)))
    return {public_or_empty(match[1].decode(errors="replace")) for match in matches} - {""}


def read_journal(
    paths: Iterable[Path], warn: Warn, wanted: Callable[[bytes], bool] = lambda _: True
) -> Iterator[Record]:
    """Return the records of some files, in file order, each with all keys.

    A line of schema 2 has its run's facts from the nearest line of that run above it in its file. Without one it is
    dropped, with one warning for each run.

    Args:
        paths: journal files.
        warn: takes what is wrong with a line.
        wanted: asked of every line of a cell as it stands in the file; one that is not wanted is not even parsed.

    Raises:
        JournalError: a file cannot be read, or is of a newer schema.
    """
    texts: dict[str, str] = {}
    for path in paths:
        reader = _Reader(path, warn, texts)
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    is_wanted = wanted(line)
                    # The line of a run; inside a text the quotes would be escaped.
                    if not is_wanted and b'"kind"' not in line:
                        continue
                    record = reader.parse(number, line)
                    if record is not None and is_wanted:
                        yield record
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def remove_lines(
    path: Path, needless: Callable[[Record], bool], warn: Warn, *, dry_run: bool = False
) -> tuple[int, int]:
    """Remove records from a journal; the other lines stay as they are. Without a record left the file goes.

    A run that writes to it waits, and goes on with the new file.

    Args:
        path: the journal.
        needless: says whether a record goes.
        warn: takes what is wrong with a line.
        dry_run: change nothing.

    Returns:
        The number of lines removed, and of bytes.

    Raises:
        JournalError: the file cannot be read or written, or is of a newer schema.
    """
    reader = _Reader(path, warn, {})
    kept: list[bytes] = []
    records = removed = 0
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # By its name: it may have been replaced before the lock was ours.
            data = path.read_bytes()
            for number, line in enumerate(data.splitlines(keepends=True), 1):
                record = reader.parse(number, line)
                if record is not None and needless(record):
                    removed += 1
                    continue
                records += record is not None
                kept.append(line)
            if not removed:
                return 0, 0
            size = sum(map(len, kept)) if records else 0
            if not dry_run and records:
                write_bytes(path, b"".join(kept))
            elif not dry_run:
                path.unlink()
    except OSError as error:
        raise _unwritable(path, error) from None
    return removed, len(data) - size


class _Reader:
    """Reads the lines of one journal file, and keeps the facts of its runs.

    Args:
        path: of the file.
        warn: takes what is wrong with a line.
        texts: of all lines, each kept once: most lines differ from others in numbers and the time alone.
    """

    def __init__(self, path: Path, warn: Warn, texts: dict[str, str]) -> None:
        # Here, as a suite that only writes a journal needs no msgspec.
        import msgspec

        self._decode = msgspec.json.Decoder().decode
        self._broken = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
        self._path, self._warn, self._share = path, warn, texts.setdefault
        self._runs: dict[str, dict[str, Any]] = {}
        self._unknown: set[str] = set()
        self._named = named_release(path)
        self._fitting = {"", self._named}
        """Versions of torch that a line here may have."""

    def parse(self, number: int, line: bytes) -> Record | None:
        """Return the record of a line; None of one that is dropped, or has the facts of a run.

        Raises:
            JournalError: it is of a newer schema.
        """
        try:
            value = self._decode(line)
        except self._broken:
            if line.strip():
                self._drop(number, "a torn line")
            return None
        if type(value) is not dict or type(value.get("schema")) is not int:
            self._drop(number, "a line that is no record")
            return None
        if value["schema"] > SCHEMA:
            raise JournalError(
                f"{self._path}:{number}: journal schema {value['schema']} is newer than {SCHEMA}, "
                "the newest this pt2bugs reads; upgrade pt2bugs"
            )
        if value["schema"] > FULL:
            if value.get("kind") == RUN:
                self._take_run(number, value)
                return None
            if (whole := self._with_facts(number, value)) is None:
                return None
            value = whole
        for key in LATER_KEYS:
            value.setdefault(key, None)
        if problem := problem_of(value):
            self._drop(number, f"a line: {problem}")
            return None
        if self._named and value["torch"] not in self._fitting:
            self._ask_release(value["torch"])
        share = self._share
        for key, text in value.items():
            if type(text) is str and key != "started":
                value[key] = share(text, text)
        return cast(Record, value)

    def _ask_release(self, torch: str) -> None:
        """Warn, once, of a line of another release than the one that the file is named by."""
        self._fitting.add(torch)
        if (release := public_or_empty(torch)) != self._named:
            self._warn(
                f"{self._path}: has lines of torch {release}, though it is named by torch {self._named}: what is asked "
                f"for {release} alone may miss them; rename the file"
            )
            self._named = ""

    def _drop(self, number: int, what: str) -> None:
        self._warn(f"{self._path}:{number}: dropped {what}")

    def _take_run(self, number: int, value: dict[str, Any]) -> None:
        if type(value.get("run_id")) is not str:
            self._drop(number, "the line of a run: it has no run_id")
            return
        self._runs[value["run_id"]] = {key: fact for key, fact in value.items() if key not in ("schema", "kind")}

    def _with_facts(self, number: int, value: dict[str, Any]) -> dict[str, Any] | None:
        """Return a record of schema 2 with the facts of its run; None if it needs some and there are none."""
        run = value.get("run_id")
        facts = self._runs.get(run) if type(run) is str else None
        if facts is None:
            if all(key in value for key in RUN_KEYS if key in KEYS) or type(run) is not str:
                return value
            if run not in self._unknown:
                self._unknown.add(run)
                self._drop(number, f"the lines of run {run:.60}: the line with its facts is missing")
            return None
        whole = {**facts, **value, "schema": FULL}
        whole.pop("kind", None)
        return {**{key: whole[key] for key in KEYS if key in whole}, **whole}


def problem_of(value: dict[str, Any]) -> str:
    """Return what makes an object no record, in a sentence; empty for one that is.

    Args:
        value: an object of JSON.
    """
    import msgspec

    try:
        msgspec.convert(value, _schema())
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        return f"{place.rstrip('`')}: {problem}"[:200] if place else problem[:200]
    if value["repeat"] > value["repeats"]:
        return "repeat and repeats are no numbers of a series"
    for key in ("torch", "python"):
        # Empty of an environment that did not start.
        if value[key] and not is_version(value[key]):
            return f"{key} is no version: {value[key]!r:.40}"
    return ""


@lru_cache(maxsize=1)
def _schema() -> type[msgspec.Struct]:
    """Return the types of a record's values, as msgspec checks them."""
    import msgspec

    kinds: dict[str, Any] = {
        **get_type_hints(Record),
        "schema": Literal[1, 2],
        "outcome": Literal[tuple(map(str, Outcome))],
        "verdict": Literal[tuple(map(str, Verdict))],
        "repeat": Annotated[int, msgspec.Meta(ge=1)],
        "started": Annotated[datetime, msgspec.Meta(tz=True)],
    }
    required: list[Any] = [(key, kinds[key]) for key in KEYS if key not in LATER_KEYS]
    optional: list[Any] = [(key, kinds[key], None) for key in LATER_KEYS]
    optional += [(key, kinds[key] | msgspec.UnsetType, msgspec.UNSET) for key in OPTIONAL_KEYS]
    return msgspec.defstruct("Line", [*required, *optional], gc=False, kw_only=True)
