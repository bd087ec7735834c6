"""`signatures.json` of a results folder: the signatures that its journal shows, so that nobody has to judge its lines.

It is derived from the case files and the journal, and names them by a digest: where one of them has changed it is not
used. `pt2bugs match --update-signatures` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson
from packaging.specifiers import SpecifierSet
from pt2bugs.case.model import Bug
from pt2bugs.case.words import Outcome
from pt2bugs.files import write_bytes
from pt2bugs.remembered import digest_of
from pt2bugs.triage.signatures import KnownBug, Signature, Signatures

FORMAT = 1
"""Counted up when `signatures.py`, or what it asks, gives another answer for the same files."""
_SPECIFIERS = frozenset({"torch", "python"})


class _Signature(msgspec.Struct, array_like=True):
    line: int
    outcome: Outcome
    error_type: str
    signal: str
    words: frozenset[str]
    torch_frames: tuple[tuple[str, str], ...]


class _KnownBug(msgspec.Struct):
    case: str
    path: str
    group: str
    entries: list[dict[str, str | int]]
    signatures: list[_Signature]


class _Table(msgspec.Struct):
    of: str
    bugs: list[_KnownBug]


def table_path(results: Path) -> Path:
    return results / "signatures.json"


def digest(roots: Sequence[Path], cases: Iterable[Path], journals: Iterable[Path]) -> str:
    """Of the case files, by their place in the corpus and content, and of the journals; empty if one cannot be read."""
    named = [(_name(path, roots), path) for path in cases] + [(path.name, path) for path in journals]
    return digest_of(f"{FORMAT}", named).hex()


def _name(path: Path, roots: Sequence[Path]) -> str:
    root = next((root for root in roots if path.is_relative_to(root)), path.parent)
    return path.relative_to(root).as_posix()


def write_table(path: Path, of: str, signatures: Signatures, roots: Sequence[Path]) -> None:
    """Write the file, a line for each bug.

    Raises:
        FileError: it cannot be written.
    """
    bugs = signatures.bugs.values()
    rows = ",\n".join(orjson.dumps(_as_dict(known, roots)).decode() for known in sorted(bugs, key=lambda one: one.id))
    write_bytes(path, _head(of) + f'"bugs": [\n{rows}\n]}}\n'.encode())


def read_table(path: Path, of: str, roots: Sequence[Path], cases: Iterable[Path]) -> Signatures | None:
    """The signatures; None if there is no table of these files, by their `digest`."""
    paths = {_name(case, roots): case for case in cases}
    try:
        data = path.read_bytes()
        if not of or not data.startswith(_head(of)):
            return None
        rows = msgspec.json.decode(data, type=_Table).bugs
        return Signatures.restored(_known(row, paths[row.path]) for row in rows)
    except (OSError, LookupError, TypeError, ValueError, msgspec.MsgspecError):
        # It is no table of ours, or was edited by hand.
        return None


def _head(of: str) -> bytes:
    return f'{{"of": "{of}", '.encode()


def _as_dict(known: KnownBug, roots: Sequence[Path]) -> dict[str, Any]:
    return {
        "case": known.id,
        "path": _name(known.path, roots),
        "group": known.group,
        "entries": [{**bug.as_dict(), "line": bug.line} for bug in known.entries],
        "signatures": sorted(
            [line, one.outcome, one.error_type, one.signal, sorted(one.words), one.torch_frames]
            for line, found in known.signatures.items()
            for one in found
        ),
    }


def _entry(told: dict[str, Any]) -> Bug:
    given: dict[str, Any] = {key: SpecifierSet(value) if key in _SPECIFIERS else value for key, value in told.items()}
    return Bug(**{**given, "outcome": Outcome(given["outcome"])})


def _known(row: _KnownBug, path: Path) -> KnownBug:
    signatures: dict[int, set[Signature]] = {}
    for one in row.signatures:
        signature = Signature(one.outcome, one.error_type, one.signal, one.words, one.torch_frames)
        signatures.setdefault(one.line, set()).add(signature)
    return KnownBug(row.case, path, row.group, [_entry(told) for told in row.entries], signatures)
