"""Reads the journal. A line that is torn or that no pt2bugs can have written is dropped with a warning."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

import orjson
from packaging.version import InvalidVersion, Version
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.results.record import KEYS, SCHEMA, Record
from pt2bugs.results.writer import JournalError

Warn = Callable[[str], None]

_TEXTS = tuple(
    key
    for key, kind in Record.__annotations__.items()
    if key in KEYS and str(getattr(kind, "__forward_arg__", kind)) == "str"
)
_OUTCOMES = frozenset(str(one) for one in Outcome)
_VERDICTS = frozenset(str(one) for one in Verdict)


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
    """The records of the files, in file order.

    Args:
        wanted: asked of every line as it stands in the file; one that is not wanted is not even parsed.

    Raises:
        JournalError: a file cannot be read, or is of a newer schema.
    """
    for path in paths:
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    record = _parse(path, number, line, warn) if wanted(line) else None
                    if record is not None:
                        yield record
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def _parse(path: Path, number: int, line: bytes, warn: Warn) -> Record | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        if line.strip():
            warn(f"{path}:{number}: dropped a torn line")
        return None
    if type(value) is not dict or type(value.get("schema")) is not int:
        warn(f"{path}:{number}: dropped a line that is no record")
        return None
    if value["schema"] > SCHEMA:
        raise JournalError(
            f"{path}:{number}: journal schema {value['schema']} is newer than {SCHEMA}, "
            "the newest this pt2bugs reads; upgrade pt2bugs"
        )
    if problem := _problem_of(value):
        warn(f"{path}:{number}: dropped a line: {problem}")
        return None
    return cast(Record, value)


def _problem_of(value: dict[str, Any]) -> str:
    """What makes an object no record; empty for one that is."""
    try:
        values = _required(value)
    except KeyError:
        return f"it has no {', '.join(key for key in KEYS if key not in value)}"
    types = tuple(map(type, values))
    if types not in _TYPES_OF_RECORDS:
        return _wrong_type(value)
    if value["extras"] and not all(type(one) is str for one in value["extras"]):
        return "extras is no list of texts"
    if not 1 <= value["repeat"] <= value["repeats"]:
        return "repeat and repeats are no numbers of a series"
    if value["outcome"] not in _OUTCOMES:
        return f"unknown outcome {value['outcome']!r:.40}"
    if value["verdict"] not in _VERDICTS:
        return f"unknown verdict {value['verdict']!r:.40}"
    frames = value.get("frames", [])
    if type(frames) is not list or not all(type(one) is str for one in frames):
        return "frames is no list of texts"
    for key in ("torch", "python"):
        if not _is_version(value[key]):
            return f"{key} is no version: {value[key]!r:.40}"
    return ""


_ALLOWED: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_TEXTS, (str,)),
    **dict.fromkeys(("schema", "repeat", "repeats"), (int,)),
    **dict.fromkeys(("graphs", "exit_status"), (int, type(None))),
    **dict.fromkeys(("duration_s", "peak_rss_mb"), (float, int)),
    "extras": (list,),
}
_required = itemgetter(*KEYS)
_TYPES_OF_RECORDS = frozenset(product(*(_ALLOWED[key] for key in KEYS)))
"""Every combination of types that the values of a record can have: to look one up is faster than to ask 26 times."""


def _wrong_type(value: dict[str, Any]) -> str:
    key = next(key for key in KEYS if type(value[key]) not in _ALLOWED[key])
    if key in _TEXTS:
        return f"{key} is no text"
    if key == "extras":
        return "extras is no list of texts"
    if key in ("repeat", "repeats"):
        return "repeat and repeats are no numbers of a series"
    if key in ("graphs", "exit_status"):
        return "graphs or exit_status is no whole number"
    return "duration_s or peak_rss_mb is no number"


@lru_cache(maxsize=4096)
def _is_version(text: str) -> bool:
    """Whether the text is a version, or empty: of an environment that did not start it is not known."""
    try:
        return not text or bool(Version(text))
    except (InvalidVersion, ValueError):
        return False
