"""Bug entries from the journal: ranges from what was measured, identity from what was seen.

Everything but the ``[[tool.pt2bugs.bug]]`` entries of a header stays as it is, and of an entry everything
but the keys that the journal can answer: ``torch``, ``check``, ``backend``, ``device``. ``packages`` stands for
``torch`` where the versions of a package differ and releases do not, as those of a backend of one's own. Whether a
failure is the bug or another limitation (``blocked``) is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pt2bugs.case.expectation import apart_from, pinned
from pt2bugs.case.failure import documents, place_of
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.patterns import escaped, pattern_for
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import FAILURES, Outcome, Verdict
from pt2bugs.curate.case_text import EntryText, with_entries
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.errors import InputError
from pt2bugs.results.history import intervals_of
from pt2bugs.results.journal import Record
from pt2bugs.results.line import version_key

Row = tuple[str, str, str]
"""Check, device and backend: a row of the journal."""

TORCH = "torch"
NOT_MEASURED = "not measured"
NEW_IDENTITY = f"{PLACEHOLDER}: no line if this is the bug, blocked = true if it keeps the check from it"


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
    versions: str
    check: str | None = None
    device: str | None = None
    backend: str | None = None
    unmeasured: tuple[str, ...] = ()
    """Minor releases at its edges that have no answer."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Of a new identity: the newest version that fails in each function of torch, by file and function."""


@dataclass
class Seen:
    """Row of the journal: the identity seen in every version with an answer, None for a pass.

    `places` are file and function of torch in which it fails, where the frames tell.
    """

    identities: dict[str, FailureIdentity | None] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    @property
    def versions(self) -> list[str]:
        """The versions with an answer, in their order."""
        return sorted(self.identities, key=version_key)


@dataclass(frozen=True)
class Measured:
    """What the journal says of a case: its rows along the versions of torch, or of the package that `axis` names."""

    rows: Mapping[Row, Seen]
    axis: str = TORCH

    @property
    def versions(self) -> set[str]:
        """The versions with an answer."""
        return {version for seen in self.rows.values() for version in seen.identities}


def measured_of(case: Case, records: Iterable[Record]) -> Measured:
    """Return the answers of the journal by row, along the axis on which they differ.

    That is torch, unless only the versions of a package differ.

    Args:
        case: the case.
        records: its newest lines of the journal.

    Raises:
        ThinJournal: repeats disagree in some cell, or answers differ along several axes.
    """
    records = list(records)
    there: dict[str, set[str]] = {}
    for record in records:
        for name, version in pinned(record["extras"]):
            there.setdefault(name, set()).add(version)
    packages = [name for name, versions in sorted(there.items()) if len(versions) > 1]
    along = {axis: _rows(case, records, axis) for axis in (TORCH, *packages)}
    # Where another axis decides, the lines of one version contradict each other.
    clear = [axis for axis, rows in along.items() if rows is not None]
    if not clear:
        named = " and of ".join([TORCH, *packages])
        raise ThinJournal(f"answers differ by the versions of {named}: its entries are for a person to write")
    measured = [Measured(along[axis] or {}, axis) for axis in clear]
    return max(measured, key=lambda along_axis: min(len(along_axis.versions), 2))


def _rows(case: Case, records: Iterable[Record], axis: str) -> dict[Row, Seen] | None:
    """Return the answers along an axis; None if it does not tell them apart.

    Skips and errors of an environment are no answers.

    Raises:
        ThinJournal: repeats disagree in some cell.
    """
    rows: dict[Row, Seen] = {}
    for record in records:
        if record["verdict"] == Verdict.FLAKY and not case.flaky:
            raise ThinJournal(
                f"{record['check']} is flaky on torch {record['torch']}: {telling_line(record['message'])}"
            )
        seen = Observation.from_dict(record)
        if seen.outcome is not Outcome.PASS and seen.outcome not in FAILURES:
            continue
        version = public_or_empty(record["torch"]) if axis == TORCH else apart_from(record["extras"], axis)[0]
        if not version:
            continue
        row = row_of(record)
        identity = None if seen.outcome is Outcome.PASS else identity_of(case, row, seen)
        answers = rows.setdefault(row, Seen())
        if answers.identities.get(version, identity) != identity and pinned(record["extras"]):
            return None
        answers.identities[version] = identity
        if identity is not None and (place := place_of(seen.frame)):
            answers.places[version] = place
    return rows


def row_of(record: Record) -> Row:
    """Return check, device and backend of a line.

    Args:
        record: of the journal.
    """
    return record["check"], record["device"], record["backend"]


def identity_of(case: Case, row: Row, seen: Observation) -> FailureIdentity:
    """Return what an entry of a header says of a failure.

    Args:
        case: the case.
        row: where it was seen.
        seen: the failure.
    """
    for index, bug in enumerate(case.bugs):
        if covers(bug, row) and documents(bug, seen):
            return _known_identity(index, bug)
    # The same failure of another check or backend has the same identity: its entry is widened or repeated.
    for index, bug in enumerate(case.bugs):
        if documents(bug, seen):
            return _known_identity(index, bug)
    # What is over its time or memory is killed: that signal is not the bug's.
    signal = seen.signal if seen.outcome is Outcome.CRASH else ""
    return FailureIdentity(None, seen.outcome, seen.error_type, signal, _pattern(seen))


def _known_identity(index: int, bug: Bug) -> FailureIdentity:
    return FailureIdentity(index, bug.outcome, bug.error or "", bug.signal or "", bug.match or "")


_BOILERPLATE = re.compile(
    r"^(File |from user code|Set TORCH|You can suppress|import torch|torch\._dynamo\.config|\[\.\.\.)"
)


NO_MESSAGE = r"^\s*($|You can suppress|Set TORCH)"
"""Fits an exception without a message; what follows is torch's advice."""


def _pattern(seen: Observation) -> str:
    """Return a regular expression for the line of the message that tells most.

    The numbers of an exception are left open. Those of a wrong result are what tells it from another.
    """
    if seen.outcome in (Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM):
        return ""
    if told := _difference(seen.message):
        return told
    whole = [line.strip() for line in seen.message.splitlines() if line.strip()]
    lines = [line for line in whole if not _BOILERPLATE.match(line)]
    if not lines and re.match(NO_MESSAGE, seen.message):
        return NO_MESSAGE
    lines = lines or whole
    told = next((line for line in lines if re.search(r"\w(Error|Exception): .", line)), lines[0])
    told = re.sub(r"^(.*?\b\w+(Error|Exception): )+(?=.)", "", told)
    if seen.outcome is Outcome.WRONG:
        return _short_floats(escaped(told[:200].strip()))
    return pattern_for(told[:90].strip())


_COUNTED = re.compile(r"(Mismatched elements: \d+ / \d+) \([\d.]+%\)\n(Greatest absolute difference: \S+) ")
_SCALARS = re.compile(r"(?<=^Scalars are not (?:equal|close)!\n\n)Expected \S+ but got \S+(?=\.\n)")


def _difference(message: str) -> str:
    """Return a regular expression for the numbers of `assert_close`, whose words are those of any bug; else nothing."""
    if match := _COUNTED.search(message):
        count, greatest = match.groups()
        told = rf"{escaped(count)} \([\d.]+%\)\n{escaped(greatest)} "
    elif match := _SCALARS.search(message):
        told = escaped(match[0])
    else:
        return ""
    return _short_floats(told)


def _short_floats(pattern: str) -> str:
    """Return a pattern that leaves the last digits of floats open, which depend on the machine."""
    return re.sub(r"(\\\.\d{4})\d+", r"\1\\d*", pattern)


def entries_of(measured: Measured) -> list[Entry]:
    """Return the entries that the journal calls for, known identities first, in the order of the header.

    Args:
        measured: what the journal says.

    Raises:
        ThinJournal: fewer than two versions have an answer.
    """
    rows = measured.rows
    if len(measured.versions) < 2:
        raise ThinJournal("only 1 release has an answer" if measured.versions else "no release has an answer")
    where: dict[tuple[FailureIdentity, str, tuple[str, ...]], set[Row]] = {}
    for row, seen in rows.items():
        for identity in dict.fromkeys(identity for identity in seen.identities.values() if identity is not None):
            for specifiers, gap in _ranges(seen, identity, measured.axis):
                where.setdefault((identity, specifiers, gap), set()).add(row)
    entries = [
        Entry(identity, specifiers, *restriction, gap, _places([rows[row] for row in showing], identity, specifiers))
        for (identity, specifiers, gap), showing in where.items()
        for restriction in _restrictions(showing, set(rows))
    ]
    return sorted(entries, key=lambda entry: (_position(entry.identity), _lowest(entry.versions), entry.check or ""))


def _position(identity: FailureIdentity) -> int:
    return identity.known if identity.known is not None else 1 << 30


def _lowest(specifiers: str) -> Version:
    match = re.search(r">=([\d.]+)", specifiers)
    return Version(match[1] if match else "0")


def _ranges(seen: Seen, identity: FailureIdentity, axis: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return where the identity shows as specifier sets, each with the minors at its edges that were not measured."""
    ranges = []
    for interval in intervals_of(seen.versions, lambda version: seen.identities[version] == identity):
        edges = [(interval.introduced_after, interval.first), (interval.last, interval.fixed_in)]
        # Which versions a package has between two others is not known.
        known = [(before, after) for before, after in edges if before and after and axis == TORCH]
        gap = [minor for before, after in known for minor in unmeasured_minors(before, after)]
        ranges.append((interval.specifier, tuple(gap)))
    return ranges


def unmeasured_minors(before: str, after: str) -> list[str]:
    """Return the minor releases between two neighbouring measured ones, in which a bug may have come or gone.

    Args:
        before: a release.
        after: a later one.
    """
    first, last = Version(before), Version(after)
    if first.major != last.major:
        return []
    return [f"{first.major}.{minor}" for minor in range(first.minor + 1, last.minor)]


def _places(showing: Iterable[Seen], identity: FailureIdentity, specifiers: str) -> dict[str, str]:
    """Return where a new identity fails, with the newest version of each place; a known one is a person's."""
    if identity.known is not None:
        return {}
    within = SpecifierSet(specifiers)
    places = {
        (version, place)
        for seen in showing
        for version, place in seen.places.items()
        if seen.identities[version] == identity and within.contains(version, prereleases=True)
    }
    return {place: version for version, place in sorted(places, key=lambda both: (version_key(both[0]), both[1]))}


def _restrictions(showing: set[Row], rows: set[Row]) -> list[tuple[str | None, str | None, str | None]]:
    """Return the fewest (check, device, backend) restrictions that hold exactly these rows."""
    if showing == rows:
        return [(None, None, None)]
    for index in range(3):
        values = {row[index] for row in showing}
        if showing == {row for row in rows if row[index] in values}:
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
        for row in showing
    )


def covers(bug: Bug, row: Row) -> bool:
    """Return whether an entry may speak of a row, its releases left aside.

    Args:
        bug: an entry of a header.
        row: check, device and backend.
    """
    check, device, backend = row
    return bug.check in (None, check) and bug.device in (None, device) and bug.backend in (None, backend)


def rewrite(case: Case, text: str, entries: Iterable[Entry], measured: Measured) -> str:
    """Return the file's text with these entries in place of the old ones.

    An old entry that speaks only of rows or releases which were not measured (another device, say) stays as it is.

    Args:
        case: the case that the text is of.
        text: the text of the file.
        entries: what the journal calls for.
        measured: what the journal says.

    Raises:
        InputError: the text would be none that can be read.
    """
    texts = [_entry_text(case, entry, measured.axis) for entry in entries]
    written = {entry.old for entry in texts}
    kept = [
        index
        for index, bug in enumerate(case.bugs)
        if index not in written
        and not any(_speaks_of(bug, row, seen, measured.axis) for row, seen in measured.rows.items())
    ]
    return with_entries(case, text, texts, kept)


def _entry_text(case: Case, entry: Entry, axis: str) -> EntryText:
    identity = entry.identity
    keys: dict[str, str | Mapping[str, str] | None] = {
        "check": entry.check,
        "device": entry.device,
        "backend": entry.backend,
    }
    if axis == TORCH:
        keys = {TORCH: entry.versions, **keys}
    else:
        old = case.bugs[identity.known].packages if identity.known is not None else {}
        packages = {**{name: str(versions) for name, versions in old.items()}, axis: entry.versions}
        keys = {"packages": {name: versions for name, versions in packages.items() if versions}, **keys}
    gap = f"{PLACEHOLDER}: {', '.join(entry.unmeasured)} {NOT_MEASURED}" if entry.unmeasured else ""
    if identity.known is not None:
        return EntryText(identity.known, keys, gap)
    shown = {"outcome": str(identity.outcome), "error": identity.error, "match": identity.match}
    comments = filter(None, (NEW_IDENTITY, _moved(entry), gap))
    return EntryText(None, {**keys, **shown, "signal": identity.signal}, "\n".join(comments))


def _moved(entry: Entry) -> str:
    """Return the question whether failures with the same words are one, where torch fails in several functions."""
    if len(entry.places) < 2:
        return ""
    told = ", ".join(f"{version} in {place}" for place, version in entry.places.items())
    return (
        f"{PLACEHOLDER}: fails on {told}: no line if it moved, an entry each with frame if these are several failures"
    )


def _speaks_of(bug: Bug, row: Row, seen: Seen, axis: str) -> bool:
    versions = bug.torch if axis == TORCH else bug.packages.get(axis, SpecifierSet())
    return covers(bug, row) and any(versions.contains(version, prereleases=True) for version in seen.identities)
