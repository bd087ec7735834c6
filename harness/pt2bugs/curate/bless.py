"""Bug entries from the journal: ranges from what was measured, identity from what was seen.

Everything but the ``[[tool.pt2bugs.bug]]`` entries of a header stays as it is, and of an entry everything
but the keys that the journal can answer: ``torch``, ``check``, ``backend``, ``device``. Whether a failure is the bug
or another limitation (``blocked``) is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from packaging.version import Version
from pt2bugs.case.expectation import has_identity
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import FAILURES, Outcome, Verdict
from pt2bugs.curate.marks import MARK
from pt2bugs.errors import InputError
from pt2bugs.results.matrix import public_or_empty
from pt2bugs.results.record import Record
from pt2bugs.results.tables import version_key

Row = tuple[str, str, str]
"""Check, device, backend."""

ENTRY = "[[tool.pt2bugs.bug]]"
NEW_IDENTITY = f"# {MARK}: no line if this is the bug, blocked = true if it keeps the check from it"


class ThinJournal(InputError):
    """The journal is too thin to write entries from.

    Cause: fewer than two releases with an answer, or repeats that disagree.
    Remedy: `pt2bugs run CASE --torch minors`.
    """


@dataclass(frozen=True)
class FailureIdentity:
    """One identity of a failure: that of a known entry, or a new one."""

    known: int | None
    outcome: Outcome
    error: str
    signal: str
    match: str


@dataclass(frozen=True)
class Entry:
    """An entry to be written: an identity, where it shows, and what it is restricted to (None: to nothing)."""

    identity: FailureIdentity
    torch: str
    check: str | None = None
    device: str | None = None
    backend: str | None = None


@dataclass
class Seen:
    """What the journal says of one row: the identity seen in every release with an answer, None for a pass."""

    identities: dict[str, FailureIdentity | None] = field(default_factory=dict)

    @property
    def releases(self) -> list[str]:
        return sorted(self.identities, key=version_key)


def identities_of(case: Case, records: Iterable[Record]) -> dict[Row, Seen]:
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
        if seen.outcome is not Outcome.PASS and seen.outcome not in FAILURES:
            continue
        row = (record["check"], record["device"], record["backend"])
        identity = None if seen.outcome is Outcome.PASS else _identity_of(case, row, seen)
        rows.setdefault(row, Seen()).identities[public_or_empty(record["torch"])] = identity
    return rows


def _identity_of(case: Case, row: Row, seen: Observation) -> FailureIdentity:
    for index, bug in enumerate(case.bugs):
        if covers(bug, row) and has_identity(bug, seen):
            return _known_identity(index, bug)
    # The same failure of another check or backend has the same identity: its entry is widened or repeated.
    for index, bug in enumerate(case.bugs):
        if has_identity(bug, seen):
            return _known_identity(index, bug)
    return FailureIdentity(None, seen.outcome, seen.error_type, seen.signal, _pattern(seen))


def _known_identity(index: int, bug: Bug) -> FailureIdentity:
    return FailureIdentity(index, bug.outcome, bug.error or "", bug.signal or "", bug.match or "")


_BOILERPLATE = re.compile(
    r"^(File |from user code|Set TORCH|You can suppress|import torch|torch\._dynamo\.config|\[\.\.\.)"
)


_NUMBER = re.compile(r"(?<!\bfloat)(?<!\bbfloat)(?<!\bint)(?<!\buint)(?<!\bcomplex)(?<!\d)(\\?-)?\d+(\\\.\d+)?")
"""A number in an escaped message, but not that of a dtype, which is no size."""


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
    return _NUMBER.sub(r"\\d+", re.escape(told)).replace(r"\ ", " ")


def entries_of(case: Case, records: Iterable[Record]) -> list[Entry]:
    """The entries the journal calls for, known identities first, in the order of the header.

    Raises:
        ThinJournal: fewer than two releases have an answer, or repeats disagree.
    """
    rows = identities_of(case, records)
    releases = {release for seen in rows.values() for release in seen.identities}
    if len(releases) < 2:
        raise ThinJournal(f"only {len(releases)} release has an answer" if releases else "no release has an answer")
    where: dict[tuple[FailureIdentity, str], set[Row]] = {}
    for row, seen in rows.items():
        for identity in dict.fromkeys(identity for identity in seen.identities.values() if identity is not None):
            for specifiers in _ranges(seen, identity):
                where.setdefault((identity, specifiers), set()).add(row)
    entries = [
        Entry(identity, specifiers, *restriction)
        for (identity, specifiers), found in where.items()
        for restriction in _restrictions(found, set(rows))
    ]
    return sorted(entries, key=lambda entry: (_position(entry.identity), _lowest(entry.torch), entry.check or ""))


def _position(identity: FailureIdentity) -> int:
    return identity.known if identity.known is not None else 1 << 30


def _lowest(specifiers: str) -> Version:
    found = re.search(r">=([\d.]+)", specifiers)
    return Version(found[1] if found else "0")


def _ranges(seen: Seen, identity: FailureIdentity) -> list[str]:
    """Specifier sets of the unbroken runs of releases that show the identity."""
    releases = seen.releases
    shows = [seen.identities[release] == identity for release in releases]
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


def covers(bug: Bug, row: Row) -> bool:
    """Whether an entry may speak of a row, its releases left aside."""
    check, device, backend = row
    return bug.check in (None, check) and bug.device in (None, device) and bug.backend in (None, backend)
