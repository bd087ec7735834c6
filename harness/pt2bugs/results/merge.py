"""Puts the journals of several machines together: every line once, none lost, none changed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from pt2bugs.case.failure import Failure, Level
from pt2bugs.case.vocabulary import Verdict
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.files import walked, write_bytes
from pt2bugs.results.journal import Record, Warn, all_journals, read_journal
from pt2bugs.results.line import CellKey, cell_key, is_complete

Route = Callable[[Record], Path]
"""The folder, from the top of the results, for the lines of a file that lay in no journal folder."""


@dataclass(frozen=True)
class Disagreement:
    """Sources whose newest answers about a cell differ; the newest of all, the last one here, counts."""

    key: CellKey
    answers: Sequence[tuple[str, Record]]

    @property
    def text(self) -> str:
        """One line: the cell, and each answer with its source."""
        key = self.key
        told = "; ".join(f"{_seen(record)} (run {record['run_id']}, {name})" for name, record in self.answers)
        return f"{key.cell} on torch {key.torch}: {told}; the last one counts"


@dataclass
class Merge:
    """The counts of a merge. `conflicts` are different lines that claim to be the same run of the same cell.

    `speeds` are lines of speed that were added; no other number counts those.
    """

    read: int = 0
    added: int = 0
    duplicates: int = 0
    dropped: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)
    backends: set[str] = field(default_factory=set)
    speeds: int = 0


def merge(sources: Sequence[Path], output: Path, route: Route, warn: Warn, apart: str = "") -> Merge:
    """Add the lines of the sources, results folders or journals, to the journal of a results folder.

    Everything is read before anything is written. Each file is then written whole or not at all, with the lines that
    were there first; what a stop leaves undone, the same merge does.

    Args:
        sources: results folders or journals.
        output: the results folder.
        route: says to which journal a line belongs.
        warn: takes what is wrong with a line.
        apart: folders of that name hold no lines of cells.

    Raises:
        InputError: a source does not exist, or has a line of a newer schema; the output cannot be written.
        NothingSelected: no source has a journal.
    """
    done = Merge()

    def drop(message: str) -> None:
        done.dropped.append(message)
        warn(message)

    known = _Known(done)
    new: dict[Path, list[Record]] = {}
    files = [file for source in sources for file in _journals(source, output, warn, apart)]
    if not files:
        raise NothingSelected(f"nothing to merge: there is no journal (*.jsonl) in {', '.join(map(str, sources))}")
    for file in all_journals(output):
        for record in read_journal([file], warn):
            known.is_new(record, str(output))
            _note_backend(done, file.relative_to(output), record)
    for source, file in files:
        folder = _place(file.relative_to(source) if file != source else Path(file.name))
        for record in read_journal([file], drop):
            done.read += 1
            place = (route(record) if folder is None else folder) / file.name
            _note_backend(done, place, record)
            if known.is_new(record, str(source)):
                done.added += 1
                new.setdefault(place, []).append(record)
            else:
                done.duplicates += 1
    for place, records in sorted(new.items()):
        _extend(output / place, sorted(records, key=lambda record: record["started"]))
    done.disagreements = known.disagreements()
    return done


def _journals(source: Path, output: Path, warn: Warn, apart: str) -> Iterator[tuple[Path, Path]]:
    """Return the journal files of a source, without those that are the output's own."""
    if not source.exists():
        raise InputError(f"{source}: there is no such file or folder")
    journals = sorted(walked(source, ".jsonl", hidden=True)) if source.is_dir() else [source]
    journals = [path for path in journals if path.parent.name != apart or path == source]
    own = {path.resolve() for path in all_journals(output)}
    regular = [path for path in journals if path.is_file() and path.resolve() not in own]
    for path in journals:
        if not path.is_file():
            warn(f"{path}: left out: it is not a regular file")
    if not journals:
        warn(f"{source}: has no journal (*.jsonl)")
    return ((source, path) for path in regular)


def _place(path: Path) -> Path | None:
    """Return the folder of a journal, from the top of its results; None for a file that lay in none."""
    parts = path.parts[:-1]
    if "journal" not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index("journal")
    is_backend = at >= 2 and parts[at - 2] == "backends"
    return Path("backends", parts[at - 1], "journal") if is_backend else Path("journal")


def _note_backend(done: Merge, place: Path, record: Record) -> None:
    if place.parts[0] == "backends":
        done.backends.add(record["backend"])


class _Known:
    """The lines taken so far."""

    def __init__(self, done: Merge) -> None:
        self._done = done
        self._digests: set[bytes] = set()
        self._runs: dict[tuple[object, ...], bytes] = {}
        self._newest: dict[tuple[CellKey, str, str], dict[str, Record]] = {}

    def is_new(self, record: Record, source: str) -> bool:
        """Take a line, and return whether it is new. Another order of keys, or other spaces, make no new line."""
        digest = hashlib.sha256(msgspec.json.encode(record, order="sorted")).digest()
        if is_complete(record):
            # A build of another kind, or another version of the case, is no disagreement.
            newest = self._newest.setdefault((cell_key(record), record["torch"], record["case_hash"]), {})
            if source not in newest or newest[source]["started"] <= record["started"]:
                newest[source] = record
        if digest in self._digests:
            return False
        self._digests.add(digest)
        run = (record["run_id"], cell_key(record), record["repeat"], record["started"])
        if self._runs.setdefault(run, digest) != digest:
            self._done.conflicts.append(
                f"{source}: another line of run {record['run_id']} for {record['case']}::{record['check']} on torch "
                f"{record['torch']}, begun at the same moment; both are kept"
            )
        return True

    def disagreements(self) -> list[Disagreement]:
        """Return the cells about which the sources answer differently."""
        disagreements = []
        for (key, _, _), by_source in sorted(self._newest.items(), key=lambda item: item[0]):
            answers = {}
            for source, record in sorted(by_source.items(), key=lambda item: item[1]["started"]):
                answers[_fingerprint(record)] = (source, record)
            if len(answers) > 1:
                disagreements.append(
                    Disagreement(key, sorted(answers.values(), key=lambda answer: answer[1]["started"]))
                )
        return disagreements


def _fingerprint(record: Record) -> str:
    if record["verdict"] == Verdict.FLAKY:
        return str(Verdict.FLAKY)
    # TYPE: machines agree on the kind of a failure before they agree on its words.
    failure = Failure.of(record)
    return failure.fingerprint(Level.TYPE) if failure else record["outcome"]


def _seen(record: Record) -> str:
    if record["verdict"] == Verdict.FLAKY:
        return "repeats disagree"
    return " ".join(part for part in (record["outcome"], record["signal"] or record["error_type"]) if part)


def _extend(path: Path, records: Iterable[Record]) -> None:
    """Write the file anew, with these records after its lines; each with all its keys, also those not known here.

    A run that writes to it waits, and goes on with the new file.
    """
    with contextlib.ExitStack() as held:
        there = b""
        if path.exists():
            file = held.enter_context(path.open("rb"))
            fcntl.flock(file, fcntl.LOCK_EX)
            # By its name: it may have been replaced before the lock was ours.
            there = path.read_bytes()
        if there and not there.endswith(b"\n"):
            there += b"\n"
        lines = [json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n" for record in records]
        write_bytes(path, there + b"".join(lines))
