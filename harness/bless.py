"""Bug entries from the journal: ranges from what was measured, identity from what was seen.

Everything but the ``[[tool.pt2bugs.bug]]`` entries of a header stays as it is, and of an entry everything
but the keys that the journal can answer: ``torch``, ``check``, ``backend``, ``device``. Whether a failure is the bug
or another limitation (``blocked``) is for a person to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from harness.case import Bug, Case
from harness.expectation import has_identity
from harness.journal import Record
from harness.matrix import public_or_empty, version_key
from harness.outcome import BAD, Observation, Outcome, Verdict

Row = tuple[str, str, str]
"""Check, device, backend."""

ENTRY = "[[tool.pt2bugs.bug]]"
NEW_FACE = "# new: is this the bug, or does it keep the check from it (blocked = true)?"


class ThinJournal(Exception):
    """The journal is too thin to write entries from.

    Cause: fewer than two releases with an answer, or repeats that disagree.
    Remedy: `pt2bugs run CASE --torch minors`.
    """


@dataclass(frozen=True)
class Face:
    """One identity of a failure: that of a known entry, or a new one."""

    known: int | None
    outcome: Outcome
    error: str
    signal: str
    match: str


@dataclass(frozen=True)
class Entry:
    """An entry to be written: a face, where it shows, and what it is restricted to (None: to nothing)."""

    face: Face
    torch: str
    check: str | None = None
    device: str | None = None
    backend: str | None = None


@dataclass
class Seen:
    """What the journal says of one row: the face of every release with an answer, None for a pass."""

    faces: dict[str, Face | None] = field(default_factory=dict)

    @property
    def releases(self) -> list[str]:
        return sorted(self.faces, key=version_key)


def faces_of(case: Case, records: Iterable[Record]) -> dict[Row, Seen]:
    """The answers of the journal by row. Skips and errors of an environment are no answers.

    Raises:
        ThinJournal: repeats disagree in some cell.
    """
    rows: dict[Row, Seen] = {}
    for record in records:
        if record["verdict"] == Verdict.FLAKY and not case.flaky:
            raise ThinJournal(
                f"{record['check']} is flaky on torch {record['torch']}: {record['message'].splitlines()[0]}"
            )
        seen = Observation.from_dict(record)
        if seen.outcome is not Outcome.PASS and seen.outcome not in BAD:
            continue
        row = (record["check"], record["device"], record["backend"])
        face = None if seen.outcome is Outcome.PASS else _face(case, row, seen)
        rows.setdefault(row, Seen()).faces[public_or_empty(record["torch"])] = face
    return rows


def _face(case: Case, row: Row, seen: Observation) -> Face:
    for index, bug in enumerate(case.bugs):
        if _covers(bug, row) and has_identity(bug, seen):
            return _known_face(index, bug)
    # The same failure of another check or backend is the same face: its entry is widened or repeated.
    for index, bug in enumerate(case.bugs):
        if has_identity(bug, seen):
            return _known_face(index, bug)
    return Face(None, seen.outcome, seen.error_type, seen.signal, _pattern(seen))


def _known_face(index: int, bug: Bug) -> Face:
    return Face(index, bug.outcome, bug.error or "", bug.signal or "", bug.match or "")


_BOILERPLATE = re.compile(
    r"^(File |from user code|Set TORCH|You can suppress|import torch|torch\._dynamo\.config|\[\.\.\.)"
)


def _pattern(seen: Observation) -> str:
    """A regular expression for the line of the message that tells most; numbers are left open."""
    if seen.outcome in (Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM):
        return ""
    lines = [line.strip() for line in seen.message.splitlines()]
    lines = [line for line in lines if line and not _BOILERPLATE.match(line)]
    if not lines:
        return r"^\s*($|You can suppress|Set TORCH)"
    told = next((line for line in lines if re.search(r"\w(Error|Exception): .", line)), lines[0])
    told = re.sub(r"^(.*?\b\w+(Error|Exception): )+(?=.)", "", told)[:90].strip()
    return re.sub(r"(\\?-)?\d+(\\\.\d+)?", r"\\d+", re.escape(told)).replace(r"\ ", " ")


def entries_of(case: Case, records: Iterable[Record]) -> list[Entry]:
    """The entries the journal calls for, known faces first, in the order of the header.

    Raises:
        ThinJournal: fewer than two releases have an answer, or repeats disagree.
    """
    rows = faces_of(case, records)
    releases = {release for seen in rows.values() for release in seen.faces}
    if len(releases) < 2:
        raise ThinJournal(f"only {len(releases)} release has an answer" if releases else "no release has an answer")
    where: dict[tuple[Face, str], set[Row]] = {}
    for row, seen in rows.items():
        for face in dict.fromkeys(face for face in seen.faces.values() if face is not None):
            for specifiers in _ranges(seen, face):
                where.setdefault((face, specifiers), set()).add(row)
    entries = [
        Entry(face, specifiers, *restriction)
        for (face, specifiers), found in where.items()
        for restriction in _restrictions(found, set(rows))
    ]
    return sorted(entries, key=lambda entry: (_position(entry.face), _lowest(entry.torch), entry.check or ""))


def _position(face: Face) -> int:
    return face.known if face.known is not None else 1 << 30


def _lowest(specifiers: str) -> Version:
    found = re.search(r">=([\d.]+)", specifiers)
    return Version(found[1] if found else "0")


def _ranges(seen: Seen, face: Face) -> list[str]:
    """Specifier sets of the unbroken runs of releases that show the face."""
    releases = seen.releases
    shows = [seen.faces[release] == face for release in releases]
    found = []
    start = None
    for index, here in enumerate([*shows, False]):
        if here and start is None:
            start = index
        elif not here and start is not None:
            parts = []
            if start > 0:
                parts.append(f">={_bound(releases[start - 1], releases[start])}")
            if index < len(releases):
                parts.append(f"<{_bound(releases[index - 1], releases[index])}")
            found.append(",".join(parts))
            start = None
    return found


def _bound(before: str, after: str) -> str:
    """Where the change between two measured releases is put: at the minor release, if that tells them apart."""
    minor = ".".join(after.split(".")[:2])
    return minor if Version(before) < Version(minor) else after


def _restrictions(found: set[Row], rows: set[Row]) -> list[tuple[str | None, str | None, str | None]]:
    """The fewest (check, device, backend) restrictions that hold exactly the rows found."""
    if found == rows:
        return [(None, None, None)]
    for index in range(3):
        values = {row[index] for row in found}
        if found == {row for row in rows if row[index] in values}:
            return [
                tuple(value if position == index else None for position in range(3))  # type: ignore[misc]
                for value in sorted(values)
            ]
    return sorted(
        (
            row[0],
            row[1] if len({other[1] for other in rows}) > 1 else None,
            row[2] if len({other[2] for other in rows if other[0] == row[0]}) > 1 else None,
        )
        for row in found
    )


# --- the header's text --------------------------------------------------------------------------------


def rewrite(case: Case, text: str, entries: Sequence[Entry], measured: dict[Row, Seen]) -> str:
    """The file's text with these entries in place of the old ones.

    An old entry that speaks only of rows or releases which were not measured (another device, say) stays as
    it is.
    """
    lines = text.splitlines(keepends=True)
    start = next(index for index, line in enumerate(lines) if line.rstrip() == "# /// script")
    end = next(index for index, line in enumerate(lines) if index > start and line.rstrip() == "# ///")
    heads = [index for index in range(start, end) if lines[index].startswith(f"# {ENTRY}")]
    first = heads[0] if heads else end
    body = lines[start:first]
    while body and body[-1].rstrip() == "#":
        body.pop()
    old = [
        _Segment([line for line in lines[head:stop] if line.rstrip() != "#"])
        for head, stop in zip(heads, [*heads[1:], end], strict=False)
    ]
    segments: list[_Segment] = []
    written: set[int] = set()
    for entry in entries:
        known = entry.face.known
        segment = old[known].copy() if known is not None else _Segment.of(entry.face)
        if known in written:
            segment.drop_comments()
        if known is not None:
            written.add(known)
        for key, value in (
            ("torch", entry.torch),
            ("check", entry.check),
            ("device", entry.device),
            ("backend", entry.backend),
        ):
            segment.set(key, value)
        segments.append(segment)
    for index, bug in enumerate(case.bugs):
        if index not in written and not any(_speaks_of(bug, row, seen) for row, seen in measured.items()):
            segments.append(old[index])
    block = [line for segment in segments for line in ("#\n", *segment.lines)]
    return "".join([*lines[:start], *body, *block, *lines[end:]])


def _speaks_of(bug: Bug, row: Row, seen: Seen) -> bool:
    return _covers(bug, row) and any(bug.torch.contains(release, prereleases=True) for release in seen.faces)


def _covers(bug: Bug, row: Row) -> bool:
    check, device, backend = row
    return bug.check in (None, check) and bug.device in (None, device) and bug.backend in (None, backend)


_ORDER = ("torch", "check", "device", "backend", "python", "outcome", "error", "match", "signal", "blocked")


class _Segment:
    """The lines of one entry."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @classmethod
    def of(cls, face: Face) -> _Segment:
        segment = cls([f"# {ENTRY}\n", f"# {NEW_FACE}\n"])
        for key, value in (
            ("outcome", str(face.outcome)),
            ("error", face.error),
            ("match", face.match),
            ("signal", face.signal),
        ):
            if value:
                segment.set(key, value)
        return segment

    def copy(self) -> _Segment:
        return _Segment(list(self.lines))

    def drop_comments(self) -> None:
        self.lines = [line for line in self.lines if not line.startswith("# #")]

    def set(self, key: str, value: str | None) -> None:
        """Set a key to a string, at its usual place if it is new; None or empty removes it."""
        at = next((i for i, line in enumerate(self.lines) if re.match(rf"# {key}\s*=", line)), None)
        if not value:
            if at is not None:
                del self.lines[at]
            return
        line = f"# {key} = {toml_string(value)}\n"
        if at is not None:
            if self._value(at) != value:
                self.lines[at] = line
            return
        later = _ORDER[_ORDER.index(key) + 1 :]
        place = next(
            (i for i, one in enumerate(self.lines) if any(re.match(rf"# {name}\s*=", one) for name in later)),
            len(self.lines),
        )
        self.lines.insert(place, line)

    def _value(self, at: int) -> str:
        found = re.match(r"# [\w-]+\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", self.lines[at])
        return (found[1] or found[2] or "") if found else ""


def toml_string(value: str) -> str:
    """`value` as a TOML string; a literal one where that saves backslashes."""
    if "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
